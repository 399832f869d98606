// ctld/engine_preempt.cpp - jobs that make way: politely, and with the numbers behind it on record.
#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"
#include "ctld/engine.h"

namespace rota::ctld {
namespace {

std::string gpus_text(std::int64_t amount) {
  return format("{} GPU{}", decimal_format(amount, 6), amount == gpu_unit ? "" : "s");
}

}  // namespace

void Engine::preempt(Job& job, const sched::Eviction& eviction) {
  advance(job, sched::JobEvent::displaced);
  job.last.edit().displaced = displaced_text(job, eviction);
  order_end_everywhere(job);
}

std::string Engine::displaced_text(const Job& job, const sched::Eviction& eviction) const {
  if (!eviction.taker) return "its gang was not complete for too long";
  const Job& taker = job_behind(eviction.taker);
  switch (eviction.action) {
    case sched::Action::preempt:
      return format("makes way for job {} of priority {} in the same project; its own is {}",
                    taker.id.value, taker.spec.priority_or_kinds(), job.spec.priority_or_kinds());
    case sched::Action::consolidate:
      return format("moves to another place, so that job {} of project {} fits", taker.id.value,
                    quoted(taker.spec.project.str()));
    case sched::Action::give_way:
      return format("gives way to job {} of project {}, as jobs in the background do",
                    taker.id.value, quoted(taker.spec.project.str()));
    default:
      break;
  }
  return format(
      "makes way for job {} of project {}, which held {} of its share of {}; project {} held {} of "
      "its share of {}",
      taker.id.value, quoted(taker.spec.project.str()), decimal_format(eviction.gains.held, 6),
      gpus_text(eviction.gains.share), quoted(job.spec.project.str()),
      decimal_format(eviction.gives.held, 6), gpus_text(eviction.gives.share));
}

}  // namespace rota::ctld
