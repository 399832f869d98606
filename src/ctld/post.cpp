// ctld/post.cpp - words of mails and webhooks, and the programs that take them.
#include "ctld/post.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <cstring>

#include "common/clock.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/hostlist.h"
#include "common/log.h"
#include "common/units.h"

extern char** environ;

namespace rota::ctld {
namespace {

/// More than this is a site whose mail server is gone; it finds out by the log.
constexpr std::size_t waiting_max = 1000;

std::string_view word_of(std::uint32_t event) {
  switch (event) {
    case mail_begin:
      return "began";
    case mail_end:
      return "ended";
    case mail_fail:
      return "failed";
    case mail_requeue:
      return "was requeued";
    case mail_invalid_depend:
      return "waits in vain";
    default:
      return "nears its time limit";
  }
}

/// A header is one line of plain letters, whatever a job's name says.
std::string header_text(std::string_view text) {
  std::string plain;
  for (const char c : text) plain += c >= 0x20 && c < 0x7f ? c : '?';
  return plain;
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const unsigned char c : text) {
    if (c == '"' || c == '\\')
      out += format("\\{}", static_cast<char>(c));
    else if (c < 0x20)
      out += format("\\u{:04x}", c);
    else
      out += static_cast<char>(c);
  }
  return out + "\"";
}

/// Both ends of a line to a program, closed when nobody needs them.
struct Ends {
  ~Ends() {
    for (int& fd : fds) close(fd);
  }
  static void close(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
  int fds[2] = {-1, -1};
};

Error failed(std::string_view what) {
  return {Errc::io_failed, format("{}: {}", what, std::strerror(errno))};
}

Result<void> await_end(pid_t child, const std::string& name, Duration limit) {
  const int watch = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  pollfd wait{.fd = watch, .events = POLLIN, .revents = 0};
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
  const bool is_over = watch >= 0 && poll(&wait, 1, static_cast<int>(ms)) > 0;
  if (watch >= 0) close(watch);
  if (!is_over) kill(child, SIGKILL);
  int status = 0;
  if (waitpid(child, &status, 0) != child) return failed(name);
  if (!is_over) return Error{Errc::timed_out, format("{} took longer than it may", name)};
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return Error{Errc::io_failed, WIFEXITED(status)
                                    ? format("{} ended with code {}", name, WEXITSTATUS(status))
                                    : format("{} ended by signal {}", name, WTERMSIG(status))};
}

}  // namespace

std::string mail_text(const Notice& notice, const std::string& cluster, const std::string& from) {
  const JobView& job = notice.job;
  const std::string to =
      job.spec.rules->mail_user.empty() ? job.owner.user.str() : job.spec.rules->mail_user;
  std::string text = format("From: {}\nTo: {}\n", from, to);
  text += format("Subject: {} job {} ({}) {}: {}\n", header_text(cluster), id_text(job),
                 header_text(job.spec.name), word_of(notice.event), name_of(job.state));
  text += "Auto-Submitted: auto-generated\nContent-Type: text/plain; charset=utf-8\n\n";
  const auto line = [&text](std::string_view name, const std::string& value) {
    if (!value.empty()) text += format("{}: {}\n", name, escaped(value));
  };
  line("Job", id_text(job));
  line("Name", job.spec.name);
  line("Project", job.spec.project);
  line("State", std::string(name_of(job.state)));
  line("Reason", job.reason);
  line("Nodes", hostlist_fold(job.nodes));
  line("Submitted", rfc3339(job.submit_time));
  line("Started", rfc3339(job.start_time));
  line("Ended", rfc3339(job.end_time));
  if (is_final(job.state) && job.start_time) {
    line("Ran for", elapsed_format(std::chrono::milliseconds(job.elapsed_ms)));
    line("Exit code", format("{}:{}", job.exit_code, job.exit_signal));
  }
  return text;
}

std::string webhook_text(const Notice& notice, const std::string& cluster) {
  const JobView& job = notice.job;
  return format(
      "{{\"cluster\":{},\"event\":{},\"job\":{},\"job_id\":{},\"name\":{},\"user\":{},"
      "\"project\":{},\"state\":{},\"reason\":{},\"exit_code\":{},\"exit_signal\":{}}}\n",
      json_text(cluster), json_text(mail_events_text(notice.event)), json_text(id_text(job)),
      job.id.value, json_text(job.spec.name), json_text(job.owner.user.str()),
      json_text(job.spec.project.str()), json_text(name_of(job.state)), json_text(job.reason),
      job.exit_code, job.exit_signal);
}

bool is_webhook_allowed(std::string_view url, std::string_view beginnings) {
  while (!beginnings.empty()) {
    const std::size_t blank = beginnings.find(' ');
    const std::string_view each = beginnings.substr(0, blank);
    if (!each.empty() && url.starts_with(each)) return true;
    beginnings.remove_prefix(blank == std::string_view::npos ? beginnings.size() : blank + 1);
  }
  return false;
}

Result<void> run_program(const std::vector<std::string>& words, const std::string& input,
                         Duration limit) {
  Ends pair;
  // A socket, not a pipe: a program that reads nothing must not end us by SIGPIPE.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.fds) != 0)
    return failed(words.front());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pair.fds[1], STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child = -1;
  errno = posix_spawn(&child, words.front().c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (errno != 0) return failed(words.front());
  pair.close(pair.fds[1]);
  const ssize_t sent = ::send(pair.fds[0], input.data(), input.size(), MSG_NOSIGNAL);
  pair.close(pair.fds[0]);
  auto ended = await_end(child, words.front(), limit);
  if (ended && sent != static_cast<ssize_t>(input.size()))
    return Error{Errc::io_failed, format("{} did not read all of its input", words.front())};
  return ended;
}

Post::Post(const Config& config)
    : cluster_(config.cluster_name),
      sendmail_(config.notify_sendmail),
      from_(config.notify_from),
      curl_(config.notify_curl),
      webhooks_(config.notify_webhooks),
      limit_(config.notify_limit) {}

Post::~Post() { thread_.join(); }

void Post::send(const Notice& notice) {
  if (waiting_ >= waiting_max) {
    log::warning("job {}: a notice was dropped, {} others wait to be sent", notice.job.id.value,
                 waiting_max);
    return;
  }
  ++waiting_;
  boost::asio::post(thread_, [this, notice] {
    send_mail(notice);
    call_webhook(notice);
    --waiting_;
  });
}

void Post::send_mail(const Notice& notice) const {
  if (sendmail_.empty()) return;
  // Who is to have it stands in the mail (-t): no word of a user's is a word of the command.
  const std::vector<std::string> words{sendmail_, "-t", "-i"};
  if (auto sent = run_program(words, mail_text(notice, cluster_, from_), limit_); !sent)
    log::warning("job {}: no mail: {}", notice.job.id.value, sent.error().message());
}

void Post::call_webhook(const Notice& notice) const {
  const std::string& url = notice.job.spec.rules->webhook;
  if (url.empty() || curl_.empty()) return;
  if (!is_webhook_allowed(url, webhooks_)) {
    log::warning("job {}: the webhook {} is none that notify.webhooks allows", notice.job.id.value,
                 quoted(url));
    return;
  }
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(limit_).count();
  const std::vector<std::string> words{curl_,
                                       "--fail",
                                       "--silent",
                                       "--proto",
                                       "=http,https",
                                       "--max-time",
                                       format("{}", seconds),
                                       "--header",
                                       "Content-Type: application/json",
                                       "--data-binary",
                                       "@-",
                                       "--url",
                                       url};
  if (auto called = run_program(words, webhook_text(notice, cluster_), limit_); !called)
    log::warning("job {}: webhook: {}", notice.job.id.value, called.error().message());
}

}  // namespace rota::ctld
