// commands/org_ask.cpp - puts the frames of the answer together.
#include "commands/org_ask.h"

#include <algorithm>
#include <iterator>

#include "proto/messages.h"

namespace rota::commands {
namespace {

template <class T>
void append(std::vector<T>& list, std::vector<T>& more) {
  std::move(more.begin(), more.end(), std::back_inserter(list));
}

}  // namespace

Result<OrgAnswer> ask_org(const net::ConnectOptions& controller, bool shares) {
  OrgAnswer answer;
  const proto::OrgShowRequest request{shares};
  ROTA_CHECK(ask_stream<proto::OrgShowReply>(controller, request, [&](proto::OrgShowReply reply) {
    answer.revision = reply.revision;
    append(answer.org.departments, reply.org.departments);
    append(answer.org.projects, reply.org.projects);
    append(answer.org.queues, reply.org.queues);
    append(answer.org.users, reply.org.users);
    append(answer.shares, reply.shares);
  }));
  return answer;
}

}  // namespace rota::commands
