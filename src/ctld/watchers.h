// ctld/watchers.h - those who asked to be told of changes in the queue.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "ctld/engine.h"
#include "model/job.h"
#include "net/connection.h"

namespace rota::ctld {

/// One open `watch` call.
struct Watch {
  std::shared_ptr<net::Connection> connection;
  std::uint32_t call = 0;
  JobFilter filter;
};

class Watchers {
 public:
  void add(Watch watch);
  void remove(const net::Connection* connection);
  bool empty() const { return watches_.empty(); }

  /// What has to be told to whom about these jobs, as they are now.
  struct News {
    Watch watch;
    std::vector<JobView> jobs;
  };
  std::vector<News> news_of(const Engine& engine, const std::vector<JobId>& changed) const;

 private:
  std::vector<Watch> watches_;
};

/// Sends the news. A watcher that does not read is cut off rather than buffered without end.
void tell(const Watchers::News& news);

}  // namespace rota::ctld
