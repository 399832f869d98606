// gpud/container/cache.cpp - one small file, written beside and renamed.
#include "gpud/container/cache.h"

#include <algorithm>
#include <cstring>

#include "common/format.h"
#include "common/log.h"
#include "gpud/launch/file.h"
#include "proto/codec.h"

namespace rota::gpud {
namespace {

constexpr std::string_view magic = "ROTAIMG1";
constexpr std::size_t bytes_max = 8 << 20;
/// Of images that are not ours: only that jobs may find them again is remembered.
constexpr std::size_t strangers_max = 256;

struct CacheFile {
  std::vector<CachedImage> images;
  static auto fields(auto& m) { return std::tie(m.images); }
};

}  // namespace

ImageCache::ImageCache(std::string path, std::set<ContainerKind> kinds)
    : path_(std::move(path)), kinds_(std::move(kinds)) {
  load();
}

void ImageCache::load() {
  if (path_.empty()) return;
  const std::string bytes = file_read(path_, bytes_max);
  if (bytes.empty()) return;
  auto file = bytes.starts_with(magic)
                  ? proto::decode<CacheFile>(std::string_view(bytes).substr(magic.size()))
                  : Result<CacheFile>(Error{Errc::malformed, "it is not ours"});
  // Then all images are strangers, and stay.
  if (!file)
    return log::warning("{}: {}; images of earlier jobs are not removed", path_,
                        file.error().detail);
  for (CachedImage& image : file->images) {
    used_last_ = std::max(used_last_, image.used);
    const Key key(image.kind, image.name);
    images_.emplace(key, std::move(image));
  }
}

Result<void> ImageCache::save() {
  if (!is_dirty_ || path_.empty()) return {};
  CacheFile file;
  for (const auto& [key, image] : images_) file.images.push_back(image);
  const std::string bytes = std::string(magic) + proto::encode(file);
  if (const int error = file_replace(path_, bytes); error != 0)
    return Error{Errc::io_failed, format("{}: {}", path_, strerrordesc_np(error))};
  is_dirty_ = false;
  return {};
}

void ImageCache::pull_begins(const Key& key, const std::string& image) {
  CachedImage& entry = images_[key];
  entry = {};
  entry.kind = key.first;
  entry.name = key.second;
  entry.image = image;
  entry.used = ++used_last_;
  entry.is_ours = true;
  is_dirty_ = true;
}

void ImageCache::pull_failed(const Key& key) {
  const auto found = images_.find(key);
  if (found != images_.end() && found->second.id.empty()) drop(key);
}

void ImageCache::use(const Key& key, const std::string& image, const ImageFacts& facts) {
  CachedImage& entry = images_[key];
  entry.kind = key.first;
  entry.name = key.second;
  entry.image = image;
  entry.used = ++used_last_;
  confirm(key, facts);
  drop_strangers();
  is_dirty_ = true;
}

void ImageCache::confirm(const Key& key, const ImageFacts& facts) {
  const auto found = images_.find(key);
  if (found == images_.end()) return;
  CachedImage& entry = found->second;
  if (entry.id == facts.id && entry.size_bytes == facts.size_bytes) return;
  // The name has moved on. What it meant before is there without one, and still ours.
  if (entry.is_ours && !entry.id.empty() && entry.id != facts.id) {
    CachedImage before = entry;
    before.name = before.id;
    before.image.clear();
    const Key nameless(before.kind, before.name);
    images_.try_emplace(nameless, std::move(before));
  }
  entry.id = facts.id;
  entry.size_bytes = facts.size_bytes;
  is_dirty_ = true;
}

void ImageCache::drop(const Key& key) { is_dirty_ = images_.erase(key) > 0 || is_dirty_; }

void ImageCache::drop_strangers() {
  std::vector<std::pair<std::uint64_t, Key>> strangers;
  for (const auto& [key, image] : images_)
    if (!image.is_ours) strangers.emplace_back(image.used, key);
  if (strangers.size() <= strangers_max) return;
  images_.erase(std::min_element(strangers.begin(), strangers.end())->second);
}

void ImageCache::hold(RunId run, const Key& key, const std::string& image) {
  held_[run] = {key, image, {}};
}

void ImageCache::hold_id(RunId run, const std::string& id) {
  if (const auto held = held_.find(run); held != held_.end()) held->second.id = id;
}

bool ImageCache::is_held(const CachedImage& image) const {
  return std::ranges::any_of(held_, [&image](const auto& each) {
    const Holding& holding = each.second;
    if (holding.key.first != ContainerKind::none && holding.key.first != image.kind) return false;
    return holding.key.second == image.name || holding.image == image.image ||
           (!holding.id.empty() && holding.id == image.id);
  });
}

std::vector<std::string> ImageCache::names(std::size_t most) const {
  std::map<std::string, std::uint64_t> latest;
  for (const auto& [key, image] : images_)
    if (is_there(image) && !image.image.empty())
      latest[image.image] = std::max(latest[image.image], image.used);
  std::vector<std::pair<std::uint64_t, std::string>> order;
  for (const auto& [name, used] : latest) order.emplace_back(used, name);
  std::sort(order.begin(), order.end(), std::greater<>());
  if (order.size() > most) order.resize(most);
  std::vector<std::string> names;
  for (auto& [used, name] : order) names.push_back(std::move(name));
  return names;
}

std::uint64_t ImageCache::size_bytes() const {
  std::set<Key> counted;  // by id
  std::uint64_t sum = 0;
  for (const auto& [key, image] : images_)
    if (image.is_ours && is_there(image) && counted.emplace(image.kind, image.id).second)
      sum += image.size_bytes;
  return sum;
}

std::vector<ImageCache::Key> ImageCache::oldest(const std::set<Key>& except) const {
  struct Image {
    std::uint64_t used = 0;
    bool may_go = true;
    std::vector<Key> names;
  };
  std::map<Key, Image> images;  // by id
  for (const auto& [key, entry] : images_) {
    if (!is_there(entry)) continue;
    Image& image = images[{entry.kind, entry.id}];
    image.used = std::max(image.used, entry.used);
    image.may_go = image.may_go && !is_held(entry) && !except.contains(key);
    if (entry.is_ours) image.names.push_back(key);
  }
  const Image* oldest = nullptr;
  for (const auto& [id, image] : images)
    if (image.may_go && !image.names.empty() && (oldest == nullptr || image.used < oldest->used))
      oldest = &image;
  return oldest == nullptr ? std::vector<Key>() : oldest->names;
}

std::vector<ImageCache::Key> ImageCache::all() const {
  std::vector<Key> keys;
  for (const auto& [key, image] : images_) keys.push_back(key);
  return keys;
}

const CachedImage* ImageCache::find(const Key& key) const {
  const auto found = images_.find(key);
  return found == images_.end() ? nullptr : &found->second;
}

}  // namespace rota::gpud
