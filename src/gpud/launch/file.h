// gpud/launch/file.h - small files: those of the kernel (cgroup, proc) in one call each, ours as a
// whole.
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
/// Written beside the file and put in its place: readers see all of the one or of the other.
/// `is_durable`: once the disk has it. 0, or the errno of what failed; then nothing has changed.
int file_replace(const std::string& path, std::string_view bytes, unsigned int mode = 0600,
                 bool is_durable = false);
/// The file's text up to `size_max` bytes; "" when it cannot be read.
std::string file_read(const std::string& path, std::size_t size_max = 1 << 20);

}  // namespace rota::gpud
