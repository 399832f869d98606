// ctld/rpc/url.cpp - rota url: an address for a browser, and the token that opens it.
#include <algorithm>

#include "common/format.h"
#include "ctld/rpc/ticket.h"
#include "model/door.h"
#include "net/url_token.h"

namespace rota::ctld::rpc {
namespace {

/// Its owner, administrators, and those whom the owner has named.
Result<void> check_visitor(const Engine& engine, const Caller& caller, const Job& job) {
  const std::vector<std::string>& users = job.spec.service->users;
  if (caller.owner.uid == job.owner.uid || engine.is_admin(caller) ||
      std::ranges::find(users, caller.owner.user.str()) != users.end())
    return {};
  return Error{Errc::denied, format("job {} belongs to {}, who has not named {}", job.id.value,
                                    job.owner.user, caller.owner.user)};
}

Result<void> check_port(const Job& job, std::uint16_t port) {
  const ServiceWish& service = *job.spec.service;
  if (!service.url)
    return Error{Errc::not_found,
                 format("job {} has no address for browsers: submit it with --port and --url",
                        job.id.value)};
  if (std::ranges::find(service.ports, port) == service.ports.end())
    return Error{Errc::not_found, format("job {} was submitted with port {}, not with {}",
                                         job.id.value, fmt::join(service.ports, ","), port)};
  return {};
}

Result<void> check_alive(const Job& job) {
  if (!is_final(job.state)) return {};
  return Error{Errc::job_ended, format("job {} is {}", job.id.value, name_of(job.state))};
}

}  // namespace

Result<proto::UrlReply> url(Controller& controller, const Caller& caller,
                            const proto::UrlRequest& request, Now now) {
  const Config& config = controller.config();
  if (config.proxy_url.empty())
    return Error{Errc::unsupported, "this cluster has no rproxy: proxy.url is not set"};
  const Job* job = controller.engine().find(request.job);
  if (job == nullptr) return Error{Errc::no_such_job, format("{}", request.job.value)};
  ROTA_CHECK(check_visitor(controller.engine(), caller, *job));
  const ServiceWish& service = *job->spec.service;
  const std::uint16_t port =
      request.port != 0 || service.ports.empty() ? request.port : service.ports.front();
  ROTA_CHECK(check_port(*job, port));
  ROTA_CHECK(check_alive(*job));
  const auto life =
      std::chrono::duration_cast<std::chrono::microseconds>(config.proxy_token_life).count();
  net::UrlToken token;
  token.uid = caller.owner.uid;
  token.user = caller.owner.user.str();
  token.job = job->id;
  token.owner_uid = job->owner.uid;
  token.owner = job->owner.user.str();
  token.expires = {now.wall.microseconds + life};
  proto::UrlReply reply;
  reply.url = door_url(config.proxy_url, {job->id, port});
  reply.token = net::seal_token(token, controller.url_key());
  return reply;
}

/// Whoever holds the token asks: that is all the power he has. What it says is looked at again.
Result<proto::TicketReply> port_ticket(Controller& controller, const Caller& caller,
                                       const proto::TicketRequest& request, Now now) {
  ROTA_TRY(const auto token, net::open_token(request.token, controller.url_key(), now.wall));
  if (token.job != request.job)
    return Error{Errc::auth_failed, format("the token is for job {}", token.job.value)};
  const Engine& engine = controller.engine();
  const Job* job = engine.find(request.job);
  if (job == nullptr) return Error{Errc::no_such_job, format("{}", request.job.value)};
  Caller visitor;
  visitor.owner.uid = token.uid;
  visitor.owner.user = token.user;
  visitor.is_admin = controller.is_trusted(token.uid);
  ROTA_CHECK(check_visitor(engine, visitor, *job));
  ROTA_CHECK(check_alive(*job));
  ROTA_CHECK(check_port(*job, request.port));
  if (job->state != JobState::running) {
    const JobView view = engine.view(*job);
    return Error{Errc::job_not_started,
                 format("job {} is {}{}{}", job->id.value, name_of(job->state),
                        view.reason.empty() ? "" : ": ", view.reason)};
  }
  ROTA_TRY(auto draft, draft_ticket(controller, caller, *job, request.task, "port", now));
  draft.reply.ticket.port = request.port;
  sign_ticket(draft);
  return std::move(draft.reply);
}

}  // namespace rota::ctld::rpc
