// sched/mig_axis.h - where MIG instances lie on the memory slices of a GPU, and where the next one
// should.
//
// Nothing moves an instance once it is there, so each is put where most of what could still be cut
// stays possible: the large profiles count before the small ones.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/mig.h"
#include "model/node.h"

namespace rota::sched {

/// The memory slices of one instance.
struct Cut {
  std::uint32_t start = 0;
  std::uint32_t size = 0;

  SliceMask mask() const { return slice_mask(start, size); }
  friend auto operator<=>(const Cut&, const Cut&) = default;
};

/// A way in which GPUs can be cut.
class MigAxis {
 public:
  explicit MigAxis(const MigGeometry& geometry);

  struct Profile {
    std::string name;
    std::uint32_t compute_slices = 0;
    std::uint32_t size = 0;
    std::vector<std::uint32_t> starts;
    std::uint32_t count_max = 0;  // on one GPU
    std::int64_t memory_mib = 0;
    std::int64_t amount = 0;  // of one_gpu: its part of the memory slices

    friend bool operator==(const Profile&, const Profile&) = default;
  };
  const std::vector<Profile>& profiles() const { return profiles_; }
  /// By its name, or one that means the same: drivers round memory differently.
  const Profile* find(const std::string& name) const;
  std::uint32_t slice_count() const { return slice_count_; }

  /// How many more of a profile fit beside what is taken, of which `there` are on the GPU already.
  std::uint32_t room(const Profile& profile, SliceMask taken, std::uint32_t there) const;
  /// Where the next one leaves the most; none: nowhere.
  std::optional<Cut> choose(const Profile& profile, SliceMask taken) const;
  /// What is lost for others when `cut` is taken too: of each profile, the largest first, how many
  /// places. The smaller of two is the better one to take.
  std::vector<std::uint32_t> loss(SliceMask taken, const Cut& cut) const;

 private:
  std::vector<Profile> profiles_;  // the largest first
  std::uint32_t slice_count_ = 0;
};

/// How the GPUs of a node may be used. They are cut in one way: those that differ from the first
/// that can be cut are only used whole.
struct NodeCuts {
  enum class Use : std::uint8_t {
    whole,   // or shared, never cut
    either,  // as jobs ask for it
    cut,     // until an administrator changes its mode
  };
  std::shared_ptr<const MigAxis> axis;
  std::vector<Use> use;            // by GPU
  std::vector<SliceMask> blocked;  // by GPU: under instances that are not ours

  /// None where no GPU can be cut.
  static std::shared_ptr<const NodeCuts> of(const NodeInventory& inventory);

  Use use_of(std::uint32_t gpu) const { return gpu < use.size() ? use[gpu] : Use::whole; }
  SliceMask blocked_on(std::uint32_t gpu) const { return gpu < blocked.size() ? blocked[gpu] : 0; }
};

}  // namespace rota::sched
