// sched/order.cpp - the eight comparisons between projects (quota.md 5), and the walk down the
// tree.
#include "sched/order.h"

#include <algorithm>

#include "common/assert.h"

namespace rota::sched {
namespace {

int smaller_first(bool a, bool b) { return static_cast<int>(a) - static_cast<int>(b); }
int smaller_first(double a, double b) { return a < b ? -1 : a > b ? 1 : 0; }

/// Above its fair share in everything at once.
bool exceeds_share(const QuotaNode& project, const Amount& held) {
  return std::all_of(resources.begin(), resources.end(),
                     [&](Resource r) { return held[r] > project.fair_share[r]; });
}

/// Holds something of which nothing is due to it.
bool uses_what_is_not_due(const QuotaNode& project, const Amount& held) {
  return std::any_of(resources.begin(), resources.end(),
                     [&](Resource r) { return held[r] > 0 && project.allocatable(r) == 0; });
}

double dominant_share(const QuotaNode& project, const Amount& held, const Amount& total) {
  double dominant = 0;
  for (const Resource r : resources) {
    const std::int64_t due = project.allocatable(r);
    const auto amount = static_cast<double>(held[r]);
    double share = 0;
    if (due == unbounded)
      share = total[r] > 0 ? amount / static_cast<double>(total[r]) : 0;
    else if (due == 0)
      share = (r == Resource::gpu ? amount / static_cast<double>(one_gpu) : amount) * 1000;
    else
      share = amount / static_cast<double>(due);
    dominant = std::max(dominant, share);
  }
  return dominant;
}

/// Below 0: a's is smaller in everything, strictly in something.
int compare_due(const QuotaNode& a, const QuotaNode& b) {
  const Amount x = a.allocatable(), y = b.allocatable();
  if (x == y) return 0;
  if (within(x, y)) return -1;
  return within(y, x) ? 1 : 0;
}

}  // namespace

Standing::Standing(const Bid& bid, const Amount& total)
    : project(bid.project),
      is_over_share(exceeds_share(*bid.project, bid.held)),
      is_over_quota(!within(bid.next, bid.project->terms.deserved)),
      is_undue(uses_what_is_not_due(*bid.project, bid.next)),
      share(dominant_share(*bid.project, bid.share, total)),
      share_held(dominant_share(*bid.project, bid.held, total)) {}

int compare(const Standing& a, const Standing& b) {
  const QuotaNode &x = *a.project, &y = *b.project;
  if (const int c = smaller_first(a.is_over_share, b.is_over_share)) return c;
  if (const int c = smaller_first(a.is_over_quota, b.is_over_quota)) return c;
  if (x.terms.rank != y.terms.rank) return x.terms.rank > y.terms.rank ? -1 : 1;
  if (const int c = smaller_first(a.is_undue, b.is_undue)) return c;
  if (const int c = smaller_first(a.share, b.share)) return c;
  if (const int c = smaller_first(a.share_held, b.share_held)) return c;
  if (const int c = compare_due(x, y)) return c;
  if (x.terms.age_order != y.terms.age_order) return x.terms.age_order < y.terms.age_order ? -1 : 1;
  return x.name < y.name ? -1 : 1;
}

Walk::Walk(const QuotaTree& quotas, For what, OfferOf offer_of)
    : quotas_(quotas), for_(what), offer_of_(std::move(offer_of)), seats_(quotas.size()) {}

std::optional<Walk::Pick> Walk::next() {
  if (!seats_[quota_root].is_known) find(quota_root);
  const Seat& root = seats_[quota_root];
  if (!root.best) return std::nullopt;
  return Pick{root.leaf, root.best->key.job};
}

void Walk::touch(QuotaIndex leaf) {
  for (QuotaIndex i = leaf; seats_[i].is_known; i = quotas_.at(i).parent) {
    seats_[i].is_known = false;
    if (i == quota_root) return;
    seats_[quotas_.at(i).parent].unsure.push_back(i);
  }
}

void Walk::touch_all() {
  for (Seat& seat : seats_) {
    seat.is_known = seat.is_built = false;
    seat.unsure.clear();
  }
}

void Walk::take(QuotaIndex leaf, const Amount& amount) {
  for (QuotaIndex i = leaf; i != quota_root; i = quotas_.at(i).parent) taken_[i] += amount;
  touch(leaf);
}

Bid Walk::bid_of(QuotaIndex index) const {
  const QuotaNode& project = quotas_.at(index);
  const Amount& step = seats_[index].best->step;
  Bid bid{&project, project.held, project.held, project.held};
  if (for_ == For::serving) {
    bid.next += step;
    bid.share = bid.next;
  } else {
    if (const auto taken = taken_.find(index); taken != taken_.end()) bid.share -= taken->second;
    bid.share -= step;
  }
  return bid;
}

bool Walk::is_better(QuotaIndex a, QuotaIndex b) const {
  const int order = compare(seats_[a].standing, seats_[b].standing);
  return for_ == For::serving ? order < 0 : order > 0;
}

void Walk::find(QuotaIndex index) {
  Seat& seat = seats_[index];
  seat.is_known = true;
  seat.best.reset();
  if (quotas_.at(index).children.empty()) {
    seat.best = offer_of_(index);
    seat.leaf = index;
    if (seat.best) seat.standing = Standing(bid_of(index), quotas_.total());
    return;
  }
  if (seat.is_built)
    mend_heap(index);
  else
    build_heap(index);
  if (seat.heap.empty()) return;
  const Seat& top = seats_[seat.heap.front()];
  seat.best = top.best;
  seat.leaf = top.leaf;
  seat.standing = Standing(bid_of(index), quotas_.total());
}

void Walk::build_heap(QuotaIndex index) {
  Seat& seat = seats_[index];
  seat.heap.clear();
  for (const QuotaIndex child : quotas_.at(index).children) {
    if (!seats_[child].is_known) find(child);
    if (seats_[child].best) seat.heap.push_back(child);
  }
  std::make_heap(seat.heap.begin(), seat.heap.end(),
                 [this](QuotaIndex a, QuotaIndex b) { return is_better(b, a); });
  seat.unsure.clear();
  seat.is_built = true;
}

/// Mostly it is the best that has changed, because it was taken; else the order is made anew.
void Walk::mend_heap(QuotaIndex index) {
  Seat& seat = seats_[index];
  if (seat.unsure.empty()) return;
  const auto worse = [this](QuotaIndex a, QuotaIndex b) { return is_better(b, a); };
  const bool only_top =
      seat.unsure.size() == 1 && !seat.heap.empty() && seat.heap.front() == seat.unsure.front();
  if (!only_top) return build_heap(index);
  const QuotaIndex child = seat.unsure.front();
  seat.unsure.clear();
  std::pop_heap(seat.heap.begin(), seat.heap.end(), worse);
  seat.heap.pop_back();
  find(child);
  if (!seats_[child].best) return;
  seat.heap.push_back(child);
  std::push_heap(seat.heap.begin(), seat.heap.end(), worse);
}

void Contest::push(const JobKey& key, const Amount& step) {
  offers_[world_.job(key.job).project].insert({key, step});
}

std::optional<std::uint32_t> Contest::pop() {
  if (offers_.empty()) return std::nullopt;
  Leaves leaves;
  for (const auto& [leaf, offers] : offers_) leaves.push_back(leaf);
  const auto at = offers_.find(best_below(quota_root, leaves));
  const std::uint32_t job = at->second.begin()->key.job;
  at->second.erase(at->second.begin());
  if (at->second.empty()) offers_.erase(at);
  return job;
}

Bid Contest::bid_of(QuotaIndex project, QuotaIndex leaf) const {
  const QuotaNode& node = world_.quotas.at(project);
  const Amount next = node.held + offers_.at(leaf).begin()->step;
  return {&node, node.held, next, next};
}

/// `leaves` are all below `above`. They compete by their ancestors just below it, each of which
/// stands for the best of its own.
QuotaIndex Contest::best_below(QuotaIndex above, const Leaves& leaves) const {
  if (leaves.size() == 1) return leaves.front();
  const std::uint32_t depth = world_.quotas.at(above).depth + 1;
  std::map<QuotaIndex, Leaves> sides;
  for (const QuotaIndex leaf : leaves) {
    QuotaIndex side = leaf;
    while (world_.quotas.at(side).depth > depth) side = world_.quotas.at(side).parent;
    sides[side].push_back(leaf);
  }
  std::optional<Standing> best_standing;
  QuotaIndex best = quota_root;
  for (const auto& [side, below] : sides) {
    const QuotaIndex leaf = best_below(side, below);
    const Standing standing(bid_of(side, leaf), world_.quotas.total());
    if (best_standing && compare(standing, *best_standing) > 0) continue;
    best_standing = standing;
    best = leaf;
  }
  return best;
}

WaitingLine::WaitingLine(World& world, IsWorth is_worth)
    : world_(world),
      is_worth_(std::move(is_worth)),
      stamp_(world.new_stamp()),
      walk_(world.quotas, Walk::For::serving,
            [this](QuotaIndex project) { return offer_of(project); }) {}

void WaitingLine::shortest_first() {
  shortest_first_ = true;
  changed();
}

std::optional<Offer> WaitingLine::offer_of(QuotaIndex project) const {
  return shortest_first_ ? first_of(world_.shortest(project)) : first_of(world_.heads(project));
}

template <class Heads>
std::optional<Offer> WaitingLine::first_of(const Heads& heads) const {
  for (const World::Head& head : heads)
    if (head.members->failed_at != stamp_ && (!is_worth_ || is_worth_(head.key.job, *head.members)))
      return Offer{head.key, head.members->step};
  return std::nullopt;
}

std::optional<std::uint32_t> WaitingLine::next() {
  world_.refresh();
  const auto pick = walk_.next();
  if (!pick) return std::nullopt;
  return pick->job;
}

void WaitingLine::give_up(std::uint32_t job) {
  QueueClass* members = world_.class_of(job);
  ROTA_ASSERT(members != nullptr);
  members->failed_at = stamp_;
  walk_.touch(world_.job(job).project);
}

}  // namespace rota::sched
