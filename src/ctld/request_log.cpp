// ctld/request_log.cpp - bounded memory of answers.
#include "ctld/request_log.h"

#include <algorithm>
#include <chrono>

namespace rota::ctld {

RequestLog::RequestLog(std::vector<StoredRequest> stored, MonoTime now) {
  std::sort(stored.begin(), stored.end(),
            [](const StoredRequest& a, const StoredRequest& b) { return a.at < b.at; });
  for (auto& request : stored) remember(std::move(request), now);
}

const StoredRequest* RequestLog::find(std::uint32_t uid, RequestId request) const {
  const auto at = requests_.find({uid, request});
  return at == requests_.end() ? nullptr : &at->second;
}

void RequestLog::put(StoredRequest request, MonoTime now, std::vector<Row>& rows) {
  rows.push_back(RequestPut{request});
  remember(std::move(request), now);
  if (order_.size() > count_max) drop_oldest(rows);
}

void RequestLog::drop_old(MonoTime now, std::vector<Row>& rows) {
  using namespace std::chrono_literals;
  while (!order_.empty() && now - order_.front().second > 1h) drop_oldest(rows);
}

void RequestLog::remember(StoredRequest request, MonoTime now) {
  const Key key{request.uid, request.request};
  if (requests_.insert_or_assign(key, std::move(request)).second) order_.emplace_back(key, now);
}

void RequestLog::drop_oldest(std::vector<Row>& rows) {
  const Key key = order_.front().first;
  rows.push_back(RequestDrop{key.first, key.second});
  requests_.erase(key);
  order_.pop_front();
}

}  // namespace rota::ctld
