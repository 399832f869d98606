// gpud/launch/file.h - small kernel files (cgroup, proc) read and written in one call each.
#pragma once
#include <string>
#include <string_view>
#include <utility>

namespace rota::gpud {

/// An open file, closed with it.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

/// 0, or the errno of the open or the write.
int file_write(const std::string& path, std::string_view text);
/// The file's text up to `size_max` bytes; "" when it cannot be read.
std::string file_read(const std::string& path, std::size_t size_max = 1 << 20);

}  // namespace rota::gpud
