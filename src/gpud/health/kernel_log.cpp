// gpud/health/kernel_log.cpp - one record of /dev/kmsg per read, lines of a fifo as they come.
#include "gpud/health/kernel_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "common/format.h"
#include "common/log.h"
#include "gpud/launch/file.h"

namespace rota::gpud {
namespace {

constexpr std::size_t line_bytes_max = 16 << 10;  // the kernel's own limit is 8 KiB

bool skip(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

template <class Number>
bool take_number(std::string_view& text, int base, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return true;
}

/// "0000:06:00"
bool take_address(std::string_view& text, LoggedXid& xid) {
  return take_number(text, 16, xid.domain) && skip(text, ":") && take_number(text, 16, xid.bus) &&
         skip(text, ":") && take_number(text, 16, xid.device);
}

/// "4,1289,5140900,-;text": the head of a record of /dev/kmsg.
void take_head(std::string_view& line, LoggedXid& xid) {
  std::string_view rest = line;
  std::uint32_t priority = 0;
  std::uint64_t sequence = 0;
  if (!take_number(rest, 10, priority) || !skip(rest, ",") || !take_number(rest, 10, sequence))
    return;
  const std::size_t text = rest.find(';');
  if (text == std::string_view::npos) return;
  xid.sequence = sequence;
  line = rest.substr(text + 1);
}

bool parse_xid(std::string_view text, LoggedXid& xid) {
  if (!skip(text, "Xid (PCI:") || !take_address(text, xid)) return false;
  // Some drivers add a function: "PCI:0000:06:00.0".
  const std::size_t end = text.find("): ");
  if (end == std::string_view::npos || end > 4) return false;
  text.remove_prefix(end + 3);
  if (!take_number(text, 10, xid.xid)) return false;
  const std::size_t pid = text.find("pid=");
  if (pid == std::string_view::npos) return true;
  text.remove_prefix(pid + 4);
  skip(text, "'");
  if (!take_number(text, 10, xid.pid)) xid.pid = 0;  // "<unknown>"
  return true;
}

/// "GPU 0000:06:00.0: GPU has fallen off the bus." and "GPU at PCI:0000:06:00: GPU-... has fallen".
bool parse_fallen(std::string_view text, LoggedXid& xid) {
  if (text.find("fallen off the bus") == std::string_view::npos) return false;
  if (!skip(text, "GPU at PCI:") && !skip(text, "GPU ")) return false;
  xid.xid = 79;
  return take_address(text, xid);
}

}  // namespace

std::optional<LoggedXid> logged_xid_from(std::string_view line) {
  LoggedXid xid;
  take_head(line, xid);
  constexpr std::string_view driver = "NVRM: ";
  const std::size_t at = line.find(driver);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view text = line.substr(at + driver.size());
  if (parse_xid(text, xid) || parse_fallen(text, xid)) return xid;
  return std::nullopt;
}

bool is_at(const LoggedXid& xid, std::string_view pci_bus_id) {
  LoggedXid address;
  return take_address(pci_bus_id, address) && address.domain == xid.domain &&
         address.bus == xid.bus && address.device == xid.device;
}

KernelLog::KernelLog(boost::asio::any_io_executor executor, OnXid on_xid)
    : file_(executor), on_xid_(std::move(on_xid)) {}

Result<void> KernelLog::open(const std::string& path, std::uint64_t after) {
  struct stat status {};
  const bool is_fifo = ::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
  // A fifo that we hold for writing, too, has no end when its writer goes.
  Fd file(::open(path.c_str(), (is_fifo ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_CLOEXEC));
  if (!file)
    return Error{Errc::io_failed, format("cannot read {}: {}", path, strerrordesc_np(errno))};
  if (!is_fifo && !S_ISCHR(status.st_mode))
    return Error{Errc::io_failed, format("{} is neither a device nor a fifo", path)};
  if (!is_fifo && after == 0) ::lseek(file.get(), 0, SEEK_END);
  after_ = after;
  boost::system::error_code error;
  file_.assign(file.get(), error);
  if (error) return Error{Errc::io_failed, format("cannot watch {}: {}", path, error.message())};
  file.release();
  read();
  return {};
}

void KernelLog::close() {
  boost::system::error_code ignored;
  file_.close(ignored);
}

void KernelLog::read() {
  file_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                   [this](boost::system::error_code error) {
                     if (!error) drain();
                   });
}

void KernelLog::drain() {
  char part[line_bytes_max];
  while (file_.is_open()) {  // who hears of an Xid may close us
    const ssize_t count = ::read(file_.native_handle(), part, sizeof part);
    // EPIPE: lines were overwritten before we came to them; the next read goes on behind them.
    if (count < 0 && (errno == EINTR || errno == EPIPE)) continue;
    if (count < 0 && errno == EAGAIN) return read();
    if (count <= 0) {
      log::warning("the kernel's log can be read no more: {}", strerrordesc_np(errno));
      return close();
    }
    rest_.append(part, static_cast<std::size_t>(count));
    std::size_t start = 0;
    for (std::size_t end; (end = rest_.find('\n', start)) != std::string::npos; start = end + 1)
      take(std::string_view(rest_).substr(start, end - start));
    rest_.erase(0, start);
    if (rest_.size() > line_bytes_max) rest_.clear();
  }
}

void KernelLog::take(std::string_view line) {
  const auto xid = logged_xid_from(line);
  if (xid && (xid->sequence == 0 || xid->sequence > after_)) on_xid_(*xid);
}

}  // namespace rota::gpud
