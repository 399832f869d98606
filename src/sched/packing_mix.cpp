// sched/packing_mix.cpp - counts that fade.
#include "sched/packing_mix.h"

#include <iterator>

#include "common/assert.h"

namespace rota::sched {

void PackMix::add(const PackRequest& request, std::int64_t count) {
  ROTA_ASSERT(request.is_valid() && count >= 0 && count <= pack_amount_max);
  if (count == 0) return;
  counts_[request] += count;
  total_ += count;
  while (total_ > window || counts_.size() > requests_max) halve();
}

void PackMix::halve() {
  total_ = 0;
  for (auto at = counts_.begin(); at != counts_.end();) {
    total_ += at->second /= 2;
    at = at->second == 0 ? counts_.erase(at) : std::next(at);
  }
}

}  // namespace rota::sched
