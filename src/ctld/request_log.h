// ctld/request_log.h - answers already given, so that a repeated request is not done twice.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "common/time.h"
#include "ctld/rows.h"

namespace rota::ctld {

/// Remembers the answer to each mutating call for an hour, and at most `count_max` of them. A
/// client gives up long before that.
class RequestLog {
 public:
  RequestLog(std::vector<StoredRequest> stored, MonoTime now);

  const StoredRequest* find(std::uint32_t uid, RequestId request) const;
  /// Puts it on record; the row goes to the store with the change that it answers.
  void put(StoredRequest request, MonoTime now, std::vector<Row>& rows);
  /// Forgets what is older than an hour, by the clock that does not step.
  void drop_old(MonoTime now, std::vector<Row>& rows);

 private:
  using Key = std::pair<std::uint32_t, RequestId>;
  static constexpr std::size_t count_max = 200'000;

  void remember(StoredRequest request, MonoTime now);
  void drop_oldest(std::vector<Row>& rows);

  std::map<Key, StoredRequest> requests_;
  std::deque<std::pair<Key, MonoTime>> order_;
};

}  // namespace rota::ctld
