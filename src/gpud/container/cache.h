// gpud/container/cache.h - which images jobs used on this node, which of them are ours, and who
// goes first when they take too much room. Kept in the spool.
//
// Written before a pull begins, so that an rgpud that was killed meanwhile knows what came of it as
// its own. Not synced: what a power failure takes from the file are images that nobody removes.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/result.h"
#include "gpud/container/image.h"
#include "gpud/container/order.h"
#include "model/ids.h"

namespace rota::gpud {

struct CachedImage {
  ContainerKind kind = ContainerKind::none;
  std::string name;   // that the engine knows it by
  std::string image;  // that jobs know it by: the same, or without a digest; "": none does
  std::string id;     // "": it has not come yet
  std::uint64_t size_bytes = 0;
  std::uint64_t used = 0;  // a number that grows with every use: no clock can turn it back
  bool is_ours = false;    // we had it pulled, and it was not there before

  friend bool operator==(const CachedImage&, const CachedImage&) = default;
  static auto fields(auto& m) {
    return std::tie(m.kind, m.name, m.image, m.id, m.size_bytes, m.used, m.is_ours);
  }
};

/// No engine is asked here.
class ImageCache {
 public:
  using Key = std::pair<ContainerKind, std::string>;  // of an image: who has it, and its name there

  /// `path` is the file; "": nothing is kept beyond this process. Images of engines that are not in
  /// `kinds` are only kept in mind, in case they come back.
  ImageCache(std::string path, std::set<ContainerKind> kinds);

  /// The image of that name will be pulled; the node does not have it.
  void pull_begins(const Key& key, const std::string& image);
  /// It did not come.
  void pull_failed(const Key& key);
  /// The node has it, and a job uses it or will.
  void use(const Key& key, const std::string& image, const ImageFacts& facts);
  /// It is there, as before: what is known of it may be out of date.
  void confirm(const Key& key, const ImageFacts& facts);
  void drop(const Key& key);

  /// A run needs this image, there or not, until it is released. With ContainerKind::none it is not
  /// known of which engine.
  void hold(RunId run, const Key& key, const std::string& image);
  void hold_id(RunId run, const std::string& id);
  /// False: it needed none.
  bool release(RunId run) { return held_.erase(run) > 0; }

  /// Names that jobs use, the latest used first; those that are there.
  std::vector<std::string> names(std::size_t most) const;
  /// Of images that are ours. An image with two names counts once; layers that two images share
  /// count twice, as engines tell it so.
  std::uint64_t size_bytes() const;
  /// All names that are ours of the image that was not used for longest, of those that no run needs
  /// and that have none of the names in `except`. None: there is no such.
  std::vector<Key> oldest(const std::set<Key>& except) const;
  std::vector<Key> all() const;
  const CachedImage* find(const Key& key) const;

  /// Writes what has changed, if anything has.
  Result<void> save();
  bool is_dirty() const { return is_dirty_; }

 private:
  struct Holding {
    Key key;
    std::string image;
    std::string id;
  };
  bool is_there(const CachedImage& image) const {
    return !image.id.empty() && kinds_.contains(image.kind);
  }
  bool is_held(const CachedImage& image) const;
  void drop_strangers();
  void load();

  std::string path_;
  std::set<ContainerKind> kinds_;
  std::map<Key, CachedImage> images_;
  std::map<RunId, Holding> held_;
  std::uint64_t used_last_ = 0;
  bool is_dirty_ = false;
};

}  // namespace rota::gpud
