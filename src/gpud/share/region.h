// gpud/share/region.h - the two files without a name that a job's processes share with the daemon.
#pragma once
#include "common/result.h"
#include "gpud/launch/file.h"
#include "gpushim/region.h"

namespace rota::gpud {

/// Made by the daemon and mapped for its life. Their sizes are sealed, and what is given out of the
/// rules can only be mapped to read.
class ShareRegion {
 public:
  static Result<ShareRegion> make();
  ShareRegion(ShareRegion&& other) noexcept;
  ShareRegion& operator=(ShareRegion&&) = delete;
  ~ShareRegion();

  RotaRules& rules() { return *rules_; }
  RotaCounts& counts() { return *counts_; }
  int rules_fd() const { return rules_fd_.get(); }
  int counts_fd() const { return counts_fd_.get(); }

 private:
  ShareRegion() = default;
  Fd rules_fd_;
  Fd counts_fd_;
  RotaRules* rules_ = nullptr;
  RotaCounts* counts_ = nullptr;
};

}  // namespace rota::gpud
