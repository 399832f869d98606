// gpud/share/region.cpp - memfds, mapped and then sealed.
#include "gpud/share/region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace rota::gpud {
namespace {

Error failed(const char* what) {
  return Error{Errc::io_failed,
               std::string("a job's share of its GPUs: ") + what + ": " + strerrordesc_np(errno)};
}

/// A file of `size` zero bytes, mapped; then nobody makes it shorter under the others' feet.
Result<void*> make_file(const char* name, std::size_t size, Fd& fd) {
  fd.reset(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(size)) != 0) return failed("memfd_create");
  void* start = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (start == MAP_FAILED) return failed("mmap");
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) return failed("seal");
  return start;
}

}  // namespace

Result<ShareRegion> ShareRegion::make() {
  ShareRegion region;
  ROTA_TRY(void* rules, make_file("rota-share-rules", sizeof(RotaRules), region.rules_fd_));
  region.rules_ = static_cast<RotaRules*>(rules);
  ROTA_TRY(void* counts, make_file("rota-share-counts", sizeof(RotaCounts), region.counts_fd_));
  region.counts_ = static_cast<RotaCounts*>(counts);
  // Nor does a process of the job keep the next from counting.
  if (fcntl(region.counts_fd_.get(), F_ADD_SEALS, F_SEAL_SEAL) != 0) return failed("seal");
  // Kernels before 5.1 cannot keep others from writing what we still write; there the mode keeps
  // out who is not root, and the watchdog looks at the driver, not at these files.
  if (fcntl(region.rules_fd_.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0 &&
      fchmod(region.rules_fd_.get(), 0444) != 0) {
    return failed("seal");
  }
  return region;
}

ShareRegion::ShareRegion(ShareRegion&& other) noexcept
    : rules_fd_(std::move(other.rules_fd_)),
      counts_fd_(std::move(other.counts_fd_)),
      rules_(std::exchange(other.rules_, nullptr)),
      counts_(std::exchange(other.counts_, nullptr)) {}

ShareRegion::~ShareRegion() {
  if (rules_ != nullptr) munmap(rules_, sizeof(RotaRules));
  if (counts_ != nullptr) munmap(counts_, sizeof(RotaCounts));
}

}  // namespace rota::gpud
