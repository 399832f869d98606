// ctld/post.h - tells people of their jobs: mails by the site's sendmail, webhooks by curl.
#pragma once
#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <string>
#include <vector>

#include "common/config.h"
#include "ctld/engine.h"

namespace rota::ctld {

/// One mail, headers and all.
std::string mail_text(const Notice& notice, const std::string& cluster, const std::string& from);
/// The same as JSON.
std::string webhook_text(const Notice& notice, const std::string& cluster);
/// Whether the site lets the controller call it: one of the beginnings, with blanks between.
bool is_webhook_allowed(std::string_view url, std::string_view beginnings);

/// Runs the program with its input and waits for its end, killing it after the limit.
Result<void> run_program(const std::vector<std::string>& words, const std::string& input,
                         Duration limit);

/// Sends on a thread of its own, one after the other, so that nothing waits for a mail server. What
/// cannot be sent is logged and dropped: a notice is news, not a promise.
class Post {
 public:
  explicit Post(const Config& config);
  ~Post();
  void send(const Notice& notice);

 private:
  void send_mail(const Notice& notice) const;
  void call_webhook(const Notice& notice) const;

  std::string cluster_, sendmail_, from_, curl_, webhooks_;
  Duration limit_;
  std::atomic<std::size_t> waiting_ = 0;
  boost::asio::thread_pool thread_{1};
};

}  // namespace rota::ctld
