// ctld/controller.h - the asynchronous shell around the engine: sessions in, effects out.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/config.h"
#include "ctld/engine.h"
#include "ctld/nodes.h"
#include "ctld/post.h"
#include "ctld/store/store.h"
#include "ctld/users.h"
#include "ctld/vault.h"
#include "ctld/watchers.h"
#include "net/connection.h"
#include "net/listener.h"

namespace rota::ctld {

/// An answer that waits for the rows it depends on.
struct Answer {
  std::shared_ptr<net::Connection> connection;
  std::uint16_t type = 0;
  std::uint32_t call = 0;
  std::uint16_t flags = 0;
  std::string body;
};

/// Everything of rctld that is not pure. One thread, no mutex; commits and user look-ups go to a
/// pool and come back. No message leaves before the rows it depends on are committed.
class Controller {
 public:
  Controller(boost::asio::io_context& io, Config config, std::unique_ptr<Store> store);

  /// Reads the store and starts to listen; the result is where.
  Result<std::uint16_t> start();
  void stop();

  // For the requests in ctld/rpc/.
  Engine& engine() { return *engine_; }
  const Config& config() const { return config_; }
  Store& store() { return *store_; }
  Vault& vault() { return vault_; }
  NodeLinks& links() { return links_; }
  Watchers& watchers() { return watchers_; }
  boost::asio::any_io_executor executor() { return io_.get_executor(); }
  WallTime up_since() const { return up_since_; }
  /// "" or why no change can be made now.
  const std::string& trouble() const { return trouble_; }
  const std::string& url_key() const { return url_key_; }
  bool is_trusted(std::uint32_t uid) const;

  /// Sends the answer after everything the engine has done so far is committed.
  void answer(Answer answer);
  template <class Message>
  void answer(std::shared_ptr<net::Connection> connection, const Message& message,
              std::uint32_t call, std::uint16_t flags = 0) {
    answer(Answer{std::move(connection), Message::number, call, flags, proto::encode(message)});
  }
  void answer_error(std::shared_ptr<net::Connection> connection, const Error& error,
                    std::uint32_t call);
  /// The engine was given something: plan, commit, send.
  void wake();
  /// Who the peer is, by name and groups; looked up off this thread when it is not known.
  net::awaitable<Caller> caller_of(net::Peer peer);

  /// Of jobs that were submitted in the batch at hand: their nodes need not wait for the store.
  using Payloads = std::unordered_map<JobId, const JobPayload*>;

 private:
  net::awaitable<void> pump();
  net::awaitable<Result<void>> commit(std::shared_ptr<const std::vector<Row>> rows);
  void deliver(const std::vector<NodeOrder>& orders, const std::vector<Row>& rows);
  Result<void> deliver_launch(const NodeLink& link, proto::LaunchRun launch, const Payloads& fresh);
  void deliver_fetch(const NodeLink& link, proto::FetchImage fetch, const Payloads& fresh);
  Result<JobPayload> payload_of(JobId job, const Payloads& fresh);
  net::awaitable<void> recover(Error cause, std::vector<Answer> unanswered);
  Result<void> load();
  net::awaitable<void> tick();

  boost::asio::io_context& io_;
  boost::asio::thread_pool pool_;
  Config config_;
  std::unique_ptr<Store> store_;
  Vault vault_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<net::Listener> listener_;
  NodeLinks links_;
  Watchers watchers_;
  UserCache users_;
  Post post_;
  std::vector<Answer> answers_;
  std::string trouble_;
  std::string url_key_;
  WallTime up_since_;
  bool pumping_ = false;
  bool woken_ = false;
  bool stopping_ = false;
};

/// Spawns what reads one session's frames until it ends (ctld/serve.cpp).
void serve(Controller& controller, std::shared_ptr<net::Connection> connection);

}  // namespace rota::ctld
