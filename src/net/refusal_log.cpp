// net/refusal_log.cpp - an allowance of lines per cause, and a count of what went beyond it.
#include "net/refusal_log.h"

#include <algorithm>

#include "common/clock.h"
#include "common/format.h"
#include "common/log.h"

namespace rota::net {

bool RefusalCount::admit(Errc cause, std::string_view line, MonoTime now) {
  const auto [at, is_new] = allowances_.try_emplace(cause);
  Allowance& allowance = at->second;
  if (is_new) allowance.since = now;
  const std::int64_t earned = (now - allowance.since) / refill;
  if (earned > 0) {
    allowance.lines = static_cast<std::uint32_t>(
        std::min<std::int64_t>(burst, std::int64_t{allowance.lines} + earned));
    allowance.since = allowance.since + earned * refill;
  }
  if (allowance.lines > 0) {
    --allowance.lines;
    return true;
  }
  ++allowance.left_out;
  allowance.last = line;
  return false;
}

std::vector<std::string> RefusalCount::take_summaries() {
  std::vector<std::string> lines;
  for (auto& [cause, allowance] : allowances_) {
    if (allowance.left_out == 0) continue;
    lines.push_back(format("{} more like it were not logged; the last: {}", allowance.left_out,
                           allowance.last));
    allowance.left_out = 0;
  }
  return lines;
}

bool RefusalCount::has_left_out() const {
  return std::any_of(allowances_.begin(), allowances_.end(),
                     [](const auto& entry) { return entry.second.left_out > 0; });
}

void RefusalLog::refused(std::string_view peer, const Error& why) {
  const std::string line = format("refused {}: {}", peer, why.message());
  if (count_.admit(why.code, line, mono_now()))
    log::warning("{}", line);
  else
    summarize_later();
}

void RefusalLog::flush() {
  for (const std::string& line : count_.take_summaries()) log::warning("{}", line);
}

void RefusalLog::summarize_later() {
  if (timer_runs_) return;
  timer_runs_ = true;
  timer_.expires_after(RefusalCount::summary_interval);
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code cancelled) {
    const auto self = weak.lock();
    if (!self || cancelled) return;
    self->timer_runs_ = false;
    self->flush();
  });
}

}  // namespace rota::net
