// commands/output_thread.h - writes to a file that may keep us waiting, without keeping anything
// else waiting.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace rota::commands {

/// A pipe or a terminal whose reader sleeps blocks whoever writes, and standard output must not be
/// made non-blocking: others share it. So a thread writes. It is detached: a process that ends does
/// not wait for it; whoever wants all written counts what was.
class OutputThread {
 public:
  /// On the executor: so many bytes were written. An errno: nothing more can be, and the rest is
  /// dropped.
  using Written = std::function<void(std::size_t bytes, int error)>;
  OutputThread(boost::asio::any_io_executor executor, int fd, Written written);
  ~OutputThread();
  OutputThread(const OutputThread&) = delete;
  OutputThread& operator=(const OutputThread&) = delete;

  /// The bytes of `text` from `begin` on.
  void write(std::string text, std::size_t begin);

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared);
  std::shared_ptr<Shared> shared_;
  bool is_started_ = false;
};

}  // namespace rota::commands
