// sched/image_book.cpp - numbers for images, and the nodes of each.
#include "sched/image_book.h"

#include <algorithm>
#include <utility>

#include "common/assert.h"

namespace rota::sched {

bool is_listed(const NodeList* nodes, NodeIndex node) {
  return nodes != nullptr && std::binary_search(nodes->begin(), nodes->end(), node);
}

ImageBook::Number ImageBook::number_of(std::string_view name) {
  if (const auto known = numbers_.find(name); known != numbers_.end()) return known->second;
  Number number = 0;
  if (unused_.empty()) {
    number = static_cast<Number>(images_.size());
    images_.emplace_back();
  } else {
    number = unused_.back();
    unused_.pop_back();
  }
  images_[number].name = name;
  numbers_.emplace(name, number);
  return number;
}

void ImageBook::drop_if_unused(Number number) {
  Image& image = images_[number];
  if (image.jobs > 0 || !image.nodes.empty()) return;
  numbers_.erase(image.name);
  image = {};
  unused_.push_back(number);
}

ImageBook::Number ImageBook::join(std::string_view name) {
  if (name.empty()) return 0;
  const Number number = number_of(name);
  ++images_[number].jobs;
  return number;
}

void ImageBook::leave(Number image) {
  if (image == 0) return;
  ROTA_ASSERT(images_[image].jobs > 0);
  --images_[image].jobs;
  drop_if_unused(image);
}

void ImageBook::set_node(NodeIndex node, const std::vector<std::string>& names) {
  std::vector<Number> now;
  for (const std::string& name : names)
    if (!name.empty()) now.push_back(number_of(name));
  std::sort(now.begin(), now.end());
  now.erase(std::unique(now.begin(), now.end()), now.end());
  std::vector<Number> before = std::exchange(on_node_[node], now);
  for (const Number number : now) {
    NodeList& nodes = images_[number].nodes;
    const auto place = std::lower_bound(nodes.begin(), nodes.end(), node);
    if (place == nodes.end() || *place != node) nodes.insert(place, node);
  }
  for (const Number number : before) {
    if (std::binary_search(now.begin(), now.end(), number)) continue;
    std::erase(images_[number].nodes, node);
    drop_if_unused(number);
  }
  if (now.empty()) on_node_.erase(node);
}

}  // namespace rota::sched
