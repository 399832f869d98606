// gpud/container/image.h - what an image says of itself, and what a node needs to run one.
#pragma once
#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/result.h"
#include "gpud/container/order.h"

namespace rota::gpud {

/// An image that a node has.
struct ImageFacts {
  std::string id;      // for the runtime: never another image
  std::string digest;  // for people and for later runs: the registry's, else the id
  std::vector<std::string> environment;
  std::vector<std::string> entrypoint;
  std::vector<std::string> command;
  std::string workdir;
  std::uint64_t size_bytes = 0;
  bool is_own = false;  // what a job has left here, whatever it was asked for by

  friend bool operator==(const ImageFacts&, const ImageFacts&) = default;
};

/// From what `docker image inspect` or `podman image inspect` tells, or dockerd's answer to the
/// same. `name` is as the job gave it: of several digests the one of its repository counts.
Result<ImageFacts> image_facts(std::string_view json, std::string_view name);

/// "localhost:5000/team/torch:2.4@sha256:..." without its tag and digest.
std::string_view image_repository(std::string_view name);
/// The part behind it: "sha256:...", "2.4", or "latest".
std::string_view image_tag(std::string_view name);
/// Its registry is an address of this host's own: nobody can listen in between, so that it may be
/// asked without TLS, as docker does it. A name that only looks like one is a name.
bool is_on_loopback(std::string_view name);
/// The same repository at exactly this digest; the digest alone if it is no registry's.
std::string pinned_image(std::string_view name, std::string_view digest);

/// What jobs have made themselves, under names that no job can ask for: an archive of the owner's,
/// for one run, and files that are kept for the owner's next job.
std::string file_image(ContainerKind kind, const std::string& container);
std::string kept_image(ContainerKind kind, std::uint32_t uid, const std::string& name);
inline constexpr std::string_view file_images = "rota-own-file";
inline constexpr std::string_view kept_images = "rota-own-kept";
/// What is kept says so itself as well: its name goes to what is kept next.
inline constexpr std::string_view own_label = "rota.own";
/// Of containers, and so of what is made from them.
inline constexpr std::string_view run_label = "rota.run";
/// enroot's: the directory of that name beside those of the owner's runs.
std::string kept_root(const std::string& name);

/// One of these on the node, as an engine lists it.
struct OwnImage {
  std::string name;          // "sha256:...": it has lost its own
  std::int64_t created = 0;  // to the second: jobs that end together need more to be in one order
  std::uint64_t job = 0;     // whose files they are

  std::strong_ordering operator<=>(const OwnImage& other) const {
    return std::tie(created, job, name) <=> std::tie(other.created, other.job, other.name);
  }
};
/// From dockerd's or podman's list of images; others in it are left out.
std::vector<OwnImage> own_images(std::string_view json);

/// The ids in such a list, all of them.
std::set<std::string> image_ids(std::string_view json);

/// How far a pull has come, from the lines that dockerd sends while it works, or those that podman
/// draws on a terminal.
class PullProgress {
 public:
  enum class Of : std::uint8_t { docker, podman };
  explicit PullProgress(Of of = Of::docker) : of_(of) {}
  /// Takes what has come of the stream; the rest of a line may follow.
  void take(std::string_view text);
  /// In percent of the bytes that are known to be needed.
  unsigned percent() const;
  /// What went wrong, in the registry's words; "": nothing has.
  const std::string& trouble() const { return trouble_; }

 private:
  void take_line(std::string_view line);
  void take_drawn(std::string_view line);

  struct Layer {
    std::string id;
    std::uint64_t loaded = 0;
    std::uint64_t total = 0;
    bool is_done = false;
  };
  Layer& layer(std::string_view id);

  Of of_;
  std::vector<Layer> layers_;
  std::string rest_;
  std::string trouble_;
};

}  // namespace rota::gpud
