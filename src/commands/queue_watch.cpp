// commands/queue_watch.cpp - draws the queue again and again, or prints its changes.
#include "commands/queue_watch.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "commands/job_list.h"
#include "commands/output.h"
#include "commands/watch.h"
#include "common/clock.h"
#include "common/format.h"

namespace rota::commands {
namespace {

/// Changes that come close together are drawn together.
constexpr Duration redraw_min = std::chrono::milliseconds(100);
/// Running times grow on the screen this often.
constexpr Duration redraw_max = std::chrono::seconds(1);

/// The first lines of `text` that a screen of `height` lines holds.
std::string fit_screen(std::string text, std::size_t height) {
  std::size_t lines = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\n' || ++lines + 2 < height) continue;
    const auto more =
        std::count(text.begin() + static_cast<std::ptrdiff_t>(at) + 1, text.end(), '\n');
    text.resize(at + 1);
    if (more > 0) text += format("... and {} more\n", more);
    break;
  }
  return text;
}

Result<void> draw_screen(const WatchedJobs& jobs, const QueueOptions& options) {
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 3;
  JobListing listing(options, style_for(STDOUT_FILENO));
  listing.add(jobs.all(mono_now()));
  std::string text = listing.take();
  if (known) text = fit_screen(std::move(text), size.ws_row);
  return print("\033[H\033[J" + text);
}

}  // namespace

awaitable<Result<int>> watch_on_screen(net::ConnectOptions controller, QueueOptions options) {
  JobWatch watch(std::move(controller), options.filter, patience);
  WatchedJobs jobs(options.filter);
  MonoTime drawn = mono_now() - redraw_max;
  bool changed = false;
  for (;;) {
    const Duration interval = changed ? redraw_min : redraw_max;
    const Duration left = std::max<Duration>(drawn + interval - mono_now(), Duration(1));
    auto reply = co_await watch.next(left);
    if (reply) {
      fill_elapsed(reply->jobs, wall_now());
      changed = true;
      jobs.take(*std::move(reply), watch.generation(), mono_now());
    } else if (reply.error().code != Errc::timed_out || watch.generation() == 0) {
      co_return reply.error();
    }
    if (!jobs.complete() || mono_now() - drawn < (changed ? redraw_min : redraw_max)) continue;
    ROTA_CO_CHECK(draw_screen(jobs, options));
    drawn = mono_now();
    changed = false;
  }
}

awaitable<Result<int>> watch_as_lines(net::ConnectOptions controller, QueueOptions options) {
  JobWatch watch(std::move(controller), options.filter, patience);
  WatchedJobs jobs(options.filter);
  JobListing listing(options, style_for(STDOUT_FILENO));
  std::vector<JobView> changed;
  for (bool first = true;;) {
    auto reply = co_await watch.next(std::chrono::hours(1));
    if (!reply && reply.error().code == Errc::timed_out && watch.generation() > 0) continue;
    if (!reply) co_return reply.error();
    fill_elapsed(reply->jobs, wall_now());
    auto news = jobs.take(*std::move(reply), watch.generation(), mono_now());
    std::move(news.begin(), news.end(), std::back_inserter(changed));
    // The first list may come in pieces and is printed whole, also when it is empty.
    if (!jobs.complete() || (changed.empty() && !first)) continue;
    listing.add(changed);
    ROTA_CO_CHECK(print(listing.take()));
    changed.clear();
    first = false;
  }
}

}  // namespace rota::commands
