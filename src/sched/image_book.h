// sched/image_book.h - which nodes have which container images, as nodes told last.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sched/fleet.h"

namespace rota::sched {

/// Images by number, so that a job that waits needs four bytes for its own. An image is known as
/// long as a job names it or a node has it.
class ImageBook {
 public:
  using Number = std::uint32_t;  // 0: no image

  /// A job names it, until it leaves. "" is no image.
  Number join(std::string_view name);
  void leave(Number image);
  /// All that the node has, in any order.
  void set_node(NodeIndex node, const std::vector<std::string>& names);

  /// Ascending; null: no node has it.
  const NodeList* nodes_with(Number image) const {
    return image == 0 || images_[image].nodes.empty() ? nullptr : &images_[image].nodes;
  }
  /// Images that are known.
  std::size_t size() const { return numbers_.size(); }

 private:
  struct Image {
    std::string name;
    std::uint32_t jobs = 0;
    NodeList nodes;
  };
  Number number_of(std::string_view name);
  void drop_if_unused(Number image);

  std::vector<Image> images_{1};  // by number
  std::vector<Number> unused_;
  std::map<std::string, Number, std::less<>> numbers_;
  std::map<NodeIndex, std::vector<Number>> on_node_;  // ascending
};

/// Whether a node is in such a list; none: in no case.
bool is_listed(const NodeList* nodes, NodeIndex node);

}  // namespace rota::sched
