// ctld/request_log.h - answers already given, so that a repeated request is not done twice.
#pragma once
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <deque>
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

  struct Answer {
    RequestId request;
    std::uint32_t uid = 0;
    std::uint16_t reply_type = 0;
    std::string reply;
    MonoTime since;
  };

  const Answer* find(std::uint32_t uid, RequestId request) const;
  /// Puts it on record under the next number; the row goes to the store with the change that it
  /// answers.
  void put(StoredRequest request, MonoTime now, std::vector<Row>& rows);
  /// Forgets what is older than an hour, by the clock that does not step.
  void drop_old(MonoTime now, std::vector<Row>& rows);

 private:
  using Key = std::pair<std::uint32_t, RequestId>;
  static constexpr std::size_t count_max = 200'000;

  static Key key_of(const Answer* answer) { return {answer->uid, answer->request}; }
  static const Key& key_of(const Key& key) { return key; }
  struct Hash {
    using is_transparent = void;
    // The client made its id at random: that is all the hash there has to be. Both halves, so that
    // it takes intent to make many alike.
    std::size_t operator()(const auto& key) const {
      const RequestId id = key_of(key).second;
      return id.low ^ id.high;
    }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const { return key_of(a) == key_of(b); }
  };

  void remember(StoredRequest request, MonoTime now);
  void forget(std::size_t count, std::vector<Row>& rows);

  std::deque<Answer> answers_;                                    // oldest first
  boost::unordered_flat_set<const Answer*, Hash, Equal> by_key_;  // into answers_
  std::uint64_t sequence_last_ = 0;                               // of the last in answers_
};

}  // namespace rota::ctld
