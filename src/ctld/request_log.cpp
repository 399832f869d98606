// ctld/request_log.cpp - bounded memory of answers.
#include "ctld/request_log.h"

#include <chrono>

#include "common/assert.h"

namespace rota::ctld {

RequestLog::RequestLog(std::vector<StoredRequest> stored, MonoTime now) {
  for (auto& request : stored) {
    // Numbers follow each other: only whole runs from the front are ever dropped.
    ROTA_ASSERT(answers_.empty() || request.sequence == sequence_last_ + 1);
    remember(std::move(request), now);
  }
}

const RequestLog::Answer* RequestLog::find(std::uint32_t uid, RequestId request) const {
  const auto at = by_key_.find(Key{uid, request});
  return at == by_key_.end() ? nullptr : *at;
}

void RequestLog::put(StoredRequest request, MonoTime now, std::vector<Row>& rows) {
  request.sequence = sequence_last_ + 1;
  rows.push_back(RequestPut{request});
  remember(std::move(request), now);
  if (answers_.size() > count_max) forget(answers_.size() - count_max, rows);
}

void RequestLog::drop_old(MonoTime now, std::vector<Row>& rows) {
  using namespace std::chrono_literals;
  std::size_t old = 0;
  while (old < answers_.size() && now - answers_[old].since > 1h) ++old;
  forget(old, rows);
}

void RequestLog::remember(StoredRequest request, MonoTime now) {
  sequence_last_ = request.sequence;
  answers_.push_back(
      {request.request, request.uid, request.reply_type, std::move(request.reply), now});
  by_key_.insert(&answers_.back());
}

void RequestLog::forget(std::size_t count, std::vector<Row>& rows) {
  if (count == 0) return;
  rows.push_back(RequestDrop{sequence_last_ - answers_.size() + count});
  for (; count > 0; --count) {
    by_key_.erase(&answers_.front());
    answers_.pop_front();
  }
}

}  // namespace rota::ctld
