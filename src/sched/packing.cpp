// sched/packing.cpp - scores that are kept while they hold, and when to learn anew.
#include "sched/packing.h"

#include <algorithm>

#include "common/assert.h"

namespace rota::sched {

std::size_t Packing::RequestHash::operator()(const PackRequest& request) const {
  std::uint64_t hash = 1469598103934665603u;
  for (const std::int64_t value :
       {request.cpu_milli, request.memory_bytes, std::int64_t{request.gpu_count},
        std::int64_t{request.gpu_share}, std::int64_t{request.models}}) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  return hash;
}

NodeIndex Packing::add(const PackNode& node) {
  nodes_changed_ = true;
  return fleet_.add(node);
}

void Packing::set_usable(NodeIndex node, bool usable) {
  nodes_changed_ = true;
  fleet_.set_usable(node, usable);
}

void Packing::set(NodeIndex node, const PackState& state) {
  const bool is_new = node >= fleet_.size();
  const bool was_usable = !is_new && fleet_.shelf_of(node) != PackFleet::no_shelf;
  nodes_changed_ = nodes_changed_ || was_usable != state.usable;
  fleet_.set(node, state);
  if (task_counts_.size() < fleet_.size()) task_counts_.resize(fleet_.size());
  placed_ += state.task_count - task_counts_[node];
  task_counts_[node] = state.task_count;
  ++moved_since_;
}

void Packing::rank(const PackRequest& request) {
  ROTA_ASSERT(request.is_valid());
  learn_if_due();
  Scores& scores = scores_of(request);
  ranked_.clear();
  for (PackFleet::ShelfIndex i = 0; i < scores.size(); ++i) {
    const Score& here = score_at(scores, request, i);
    if (here.loss != never)
      ranked_.push_back({here.loss, *fleet_.shelf(i).nodes.begin(), i, here.level});
  }
  std::make_heap(ranked_.begin(), ranked_.end(), std::greater<>());
}

void Packing::observe(const PackRequest& request, std::int64_t count) {
  mix_.add(request, count);
  seen_since_ += count;
}

void Packing::take(const PackRequest& request, const PackSpot& spot) {
  fleet_.take(request, spot);
  ++placed_;
  ++moved_since_;
}

void Packing::release(const PackRequest& request, const PackSpot& spot) {
  fleet_.give(request, spot);
  --placed_;
  ++moved_since_;
}

void Packing::learn_if_due() {
  if (!nodes_changed_ && seen_since_ < learn_at_seen_ && moved_since_ < learn_at_moved_) return;
  worth_.learn(mix_, fleet_);
  fleet_.restamp();
  nodes_changed_ = false;
  seen_since_ = moved_since_ = 0;
  learn_at_seen_ = std::max(learn_min, mix_.total() / learn_divisor);
  learn_at_moved_ = std::max(learn_min, placed_ / learn_divisor);
}

std::int64_t Packing::worth_of_shelf(PackFleet::ShelfIndex shelf) {
  RoomWorth& kept = room_worths_[shelf];
  const std::uint64_t stamp = fleet_.stamps()[shelf];
  if (kept.stamp != stamp) kept = {.worth = worth_.of(fleet_.shelf(shelf).room), .stamp = stamp};
  return kept.worth;
}

Packing::Score Packing::score_share(const PackRequest& request, const PackRoom& room,
                                    std::int64_t before) const {
  Score best;
  std::int32_t level_last = 0;
  for (std::int32_t g = 0; g < room.gpu_count; ++g) {
    const std::int32_t level = room.gpu_free[static_cast<std::size_t>(g)];
    if (level < request.gpu_share) break;
    if (level == level_last) continue;
    level_last = level;
    const std::int64_t loss = before - worth_.of(room.after(request, level));
    // The levels fall: of equal losses, the fuller GPU.
    if (loss <= best.loss) best = {.loss = loss, .level = level};
  }
  return best;
}

Packing::Score Packing::score(const PackRequest& request, PackFleet::ShelfIndex shelf) {
  const PackRoom& room = fleet_.shelf(shelf).room;
  const std::uint64_t stamp = fleet_.stamps()[shelf];
  Score score;
  if (stamp != 0 && room.fits(request)) {
    const std::int64_t before = worth_of_shelf(shelf);
    if (request.is_share())
      score = score_share(request, room, before);
    else
      score.loss = before - worth_.of(room.after(request, 0));
  }
  score.stamp = stamp;
  return score;
}

const Packing::Score& Packing::score_at(Scores& scores, const PackRequest& request,
                                        PackFleet::ShelfIndex shelf) {
  if (scores[shelf].stamp != fleet_.stamps()[shelf]) scores[shelf] = score(request, shelf);
  return scores[shelf];
}

Packing::Scores& Packing::scores_of(const PackRequest& request) {
  const std::size_t shelf_count = fleet_.shelf_count();
  room_worths_.resize(shelf_count);
  // A short list is not free either.
  if (scores_.size() * std::max(shelf_count, std::size_t{64}) >= scores_max) scores_.clear();
  Scores& scores = scores_[request];
  scores.resize(shelf_count);
  return scores;
}

std::optional<PackChoice> Packing::choose(const PackRequest& request) {
  ROTA_ASSERT(request.is_valid());
  learn_if_due();
  Scores& scores = scores_of(request);
  Score best;
  NodeIndex best_node = no_node;
  for (PackFleet::ShelfIndex i = 0; i < scores.size(); ++i) {
    const Score& here = score_at(scores, request, i);
    if (here.loss > best.loss || here.loss == never) continue;
    const NodeIndex node = *fleet_.shelf(i).nodes.begin();
    if (here.loss == best.loss && node > best_node) continue;
    best = here;
    best_node = node;
  }
  if (best_node == no_node) return std::nullopt;
  return PackChoice{fleet_.spot_on(best_node, request, best.level), best.loss};
}

std::optional<PackChoice> Packing::choose_on(const PackRequest& request, NodeIndex node) {
  ROTA_ASSERT(request.is_valid());
  learn_if_due();
  const PackFleet::ShelfIndex shelf = fleet_.shelf_of(node);
  if (shelf == PackFleet::no_shelf) return std::nullopt;
  const Score here = score_at(scores_of(request), request, shelf);
  if (here.loss == never) return std::nullopt;
  return PackChoice{fleet_.spot_on(node, request, here.level), here.loss};
}

}  // namespace rota::sched
