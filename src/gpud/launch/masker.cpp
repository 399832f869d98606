// gpud/launch/masker.cpp - one table of states. Linked into rstepd, so without libfmt.
#include "gpud/launch/masker.h"

#include <algorithm>
#include <deque>

namespace rota::gpud {
namespace {

// A state fits 16 bits: a list that fits a ticket has fewer bytes.
static_assert(MaskList::bytes_max < 65'536);

}  // namespace

Masker::Masker(const MaskList& list) : nodes_(1) {
  std::size_t bytes = 0;
  for (const Mask& mask : list.masks) {
    if ((bytes += mask.start.size()) > MaskList::bytes_max) break;
    add(mask);
  }
  link();
}

void Masker::add(const Mask& mask) {
  State at = 0;
  for (const char c : mask.start) {
    const auto byte = static_cast<unsigned char>(c);
    if (nodes_[at].next[byte] == 0) {
      nodes_[at].next[byte] = static_cast<State>(nodes_.size());
      const auto depth = static_cast<std::uint16_t>(nodes_[at].depth + 1);
      nodes_.emplace_back().depth = depth;
    }
    at = nodes_[at].next[byte];
  }
  if (at == 0) return;
  Node& last = nodes_[at];
  last.hides_before = last.depth;
  const auto size = static_cast<std::uint32_t>(mask.start.size());
  last.hides_after = std::max(last.hides_after, mask.size > size ? mask.size - size : 0);
}

/// Where a beginning does not go on, the longest end of it that is one too does.
void Masker::link() {
  std::vector<State> falls(nodes_.size(), 0);
  std::deque<State> order{0};
  while (!order.empty()) {
    const State at = order.front();
    order.pop_front();
    const Node fall = nodes_[falls[at]];
    nodes_[at].hides_before =
        std::max(nodes_[at].hides_before, at == 0 ? State{0} : fall.hides_before);
    nodes_[at].hides_after = std::max(nodes_[at].hides_after, at == 0 ? 0 : fall.hides_after);
    for (std::size_t byte = 0; byte < 256; ++byte) {
      State& next = nodes_[at].next[byte];
      const State otherwise = at == 0 ? State{0} : fall.next[byte];
      if (next == 0) {
        next = otherwise;
      } else if (nodes_[next].depth == nodes_[at].depth + 1) {
        falls[next] = otherwise;
        order.push_back(next);
      }
    }
  }
}

void Masker::show(std::size_t count, std::string& output) {
  for (std::size_t i = 0; i < count; ++i) {
    if (hidden_[i] == 0) output += kept_[i];
    if (hidden_[i] != 0 && !is_hiding_) output += "***";
    is_hiding_ = hidden_[i] != 0;
  }
  kept_.erase(0, count);
  hidden_.erase(0, count);
}

void Masker::take(std::string_view input, std::string& output) {
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (state_ == 0 && hides_ == 0 && kept_.empty()) {
      // Nearly all of a stream cannot even be the first byte of a mask.
      const std::size_t from = i;
      while (i < input.size() && nodes_[0].next[static_cast<unsigned char>(input[i])] == 0) ++i;
      if (i > from) is_hiding_ = false;
      output.append(input, from, i - from);
      if (i == input.size()) return;
    }
    const char c = input[i];
    if (c == '\n') hides_ = 0;
    kept_ += c;
    hidden_ += static_cast<char>(hides_ > 0 ? 1 : 0);
    if (hides_ > 0) --hides_;
    state_ = nodes_[state_].next[static_cast<unsigned char>(c)];
    const Node& node = nodes_[state_];
    if (node.hides_before > 0) {
      const std::size_t count = std::min<std::size_t>(node.hides_before, hidden_.size());
      std::fill(hidden_.end() - static_cast<std::ptrdiff_t>(count), hidden_.end(), char{1});
      hides_ = std::max(hides_, node.hides_after);
    }
    if (kept_.size() > node.depth) show(kept_.size() - node.depth, output);
  }
}

void Masker::finish(std::string& output) { show(kept_.size(), output); }

}  // namespace rota::gpud
