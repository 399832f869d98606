// commands/step_pmix.cpp - records of PMIx servers, sorted.
#include "commands/step_pmix.h"

#include "common/assert.h"
#include "common/format.h"

namespace rota::commands {

StepPmix::StepPmix(std::vector<std::string> nodes, std::vector<std::uint32_t> tasks)
    : nodes_(std::move(nodes)), tasks_(std::move(tasks)), servers_(nodes_.size()) {}

Result<std::vector<proto::PmixNews>> StepPmix::take(std::size_t place, std::string_view bytes) {
  Server& server = servers_[place];
  server.buffer += bytes;
  std::vector<proto::PmixNews> rest;
  for (;;) {
    ROTA_TRY(const auto body, proto::pmix_unpack(server.buffer));
    if (!body) return rest;
    ROTA_TRY(auto news, proto::decode<proto::PmixNews>(*body));
    using Kind = proto::PmixNews::Kind;
    if (news.kind == Kind::hello && server.port == 0 && news.port != 0) {
      server.port = news.port;
      ++hello_count_;
    } else if (news.kind == Kind::ready && server.tasks.empty() &&
               news.tasks.size() == tasks_[place]) {
      server.tasks = std::move(news.tasks);
      ++ready_count_;
    } else if (news.kind == Kind::aborted || news.kind == Kind::failed) {
      rest.push_back(std::move(news));
    } else {
      return Error{Errc::malformed, "its PMIx server says what makes no sense"};
    }
  }
}

std::string StepPmix::order_for(std::size_t place, const std::string& nspace,
                                const std::string& host, const std::string& secret) const {
  proto::PmixOrder order;
  order.nspace = nspace;
  order.nodes = nodes_;
  order.tasks = tasks_;
  order.place = static_cast<std::uint32_t>(place);
  order.meeting = format("{}:{}", host, servers_.front().port);
  order.secret = secret;
  return proto::pmix_pack(order);
}

const std::vector<std::string>& StepPmix::variables_of(std::size_t place,
                                                       std::uint32_t local) const {
  ROTA_ASSERT(local < servers_[place].tasks.size());
  return servers_[place].tasks[local].variables;
}

}  // namespace rota::commands
