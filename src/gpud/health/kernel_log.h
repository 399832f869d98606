// gpud/health/kernel_log.h - what the NVIDIA driver writes to the kernel's log about GPUs.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "common/result.h"

namespace rota::gpud {

/// "NVRM: Xid (PCI:0000:06:00): 48, pid=1234, name=python3, ..."
struct LoggedXid {
  std::uint32_t domain = 0;
  std::uint32_t bus = 0;
  std::uint32_t device = 0;
  std::uint32_t xid = 0;
  std::uint32_t pid = 0;       // 0: not told
  std::uint64_t sequence = 0;  // of the line; 0: not told

  friend bool operator==(const LoggedXid&, const LoggedXid&) = default;
};
/// None when the line is about something else. The two sentences about a GPU that has fallen off
/// the bus, which have no number, are Xid 79.
std::optional<LoggedXid> logged_xid_from(std::string_view line);

/// Whether it is the GPU with this address, as NVML writes it: "00000000:06:00.0".
bool is_at(const LoggedXid& xid, std::string_view pci_bus_id);

/// Reads /dev/kmsg, or a fifo with such lines.
class KernelLog {
 public:
  using OnXid = std::function<void(const LoggedXid&)>;
  KernelLog(boost::asio::any_io_executor executor, OnXid on_xid);

  /// Begins behind line `after` of this boot; with 0 behind all that is there.
  Result<void> open(const std::string& path, std::uint64_t after);
  void close();

 private:
  void read();
  void drain();
  void take(std::string_view line);

  boost::asio::posix::stream_descriptor file_;
  OnXid on_xid_;
  std::uint64_t after_ = 0;
  std::string rest_;
};

}  // namespace rota::gpud
