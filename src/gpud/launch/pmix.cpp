// gpud/launch/pmix.cpp - libpmix's server side: the step told to it, its questions passed on.
#include "gpud/launch/pmix.h"

#include <pmix.h>
#include <pmix_server.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <future>
#include <numeric>

#include "common/format.h"

namespace rota::gpud {
namespace {

/// libpmix calls plain functions: there is one server that they can mean.
std::atomic<PmixServer::Events*> the_events = nullptr;

Error failed(std::string_view what, pmix_status_t status) {
  return {Errc::launch_failed, format("PMIx cannot {}: {}", what, PMIx_Error_string(status))};
}

/// A list of what PMIx is told. Strings and arrays are copied by it.
class Infos {
 public:
  Infos() = default;
  Infos(const Infos&) = delete;
  Infos& operator=(const Infos&) = delete;
  ~Infos() {
    for (pmix_info_t& info : list_) PMIX_INFO_DESTRUCT(&info);
  }
  void text(const char* key, const std::string& value) { add(key, value.c_str(), PMIX_STRING); }
  void number(const char* key, std::uint32_t value) { add(key, &value, PMIX_UINT32); }
  void small(const char* key, std::uint16_t value) { add(key, &value, PMIX_UINT16); }
  void rank(const char* key, pmix_rank_t value) { add(key, &value, PMIX_PROC_RANK); }
  void flag(const char* key) {
    bool yes = true;
    add(key, &yes, PMIX_BOOL);
  }
  /// A regular expression of PMIx's own, which may be any bytes.
  void pattern(const char* key, const char* value) { add(key, value, PMIX_REGEX); }
  void group(const char* key, Infos& inner) {
    pmix_data_array_t array;
    array.type = PMIX_INFO;
    array.size = inner.list_.size();
    inner.flat_.assign(inner.list_.begin(), inner.list_.end());
    array.array = inner.flat_.data();
    add(key, &array, PMIX_DATA_ARRAY);
  }
  pmix_info_t* data() {
    flat_.assign(list_.begin(), list_.end());
    return flat_.data();
  }
  std::size_t size() const { return list_.size(); }

 private:
  void add(const char* key, const void* value, pmix_data_type_t type) {
    pmix_info_t& info = list_.emplace_back();
    std::memset(&info, 0, sizeof info);
    PMIx_Info_load(&info, key, value, type);
  }
  std::deque<pmix_info_t> list_;
  std::vector<pmix_info_t> flat_;  // the same once more, in a row; not the owner
};

/// Waits for the end of a call that PMIx ends on its own thread.
class Ending {
 public:
  static void done(pmix_status_t status, void* self) {
    static_cast<Ending*>(self)->promise_.set_value(status);
  }
  pmix_status_t wait(pmix_status_t begun) {
    if (begun == PMIX_OPERATION_SUCCEEDED) return PMIX_SUCCESS;
    return begun == PMIX_SUCCESS ? promise_.get_future().get() : begun;
  }

 private:
  std::promise<pmix_status_t> promise_;
};

/// Answers a fence or a fetch; PMIx frees what it got when it has read it.
PmixServer::Done answer_to(pmix_modex_cbfunc_t callback, void* data) {
  return [callback, data](int status, std::string text) {
    if (callback == nullptr) return;
    auto* const kept = new std::string(std::move(text));
    const auto release = [](void* it) { delete static_cast<std::string*>(it); };
    callback(status, kept->data(), kept->size(), data, release, kept);
  };
}

// ---- what libpmix asks ----

pmix_status_t on_connected(const pmix_proc_t*, void*, pmix_info_t*, std::size_t, pmix_op_cbfunc_t,
                           void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_finalized(const pmix_proc_t*, void*, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_abort(const pmix_proc_t* proc, void*, int status, const char* text, pmix_proc_t*,
                       std::size_t, pmix_op_cbfunc_t, void*) {
  if (auto* const events = the_events.load())
    events->abort(proc->rank, status, text == nullptr ? "" : text);
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_fence(const pmix_proc_t* procs, std::size_t count, const pmix_info_t*, std::size_t,
                       char* data, std::size_t size, pmix_modex_cbfunc_t callback, void* state) {
  std::vector<std::uint32_t> ranks;
  for (std::size_t i = 0; i < count; ++i) {
    if (procs[i].rank == PMIX_RANK_WILDCARD) {
      ranks.clear();
      break;
    }
    ranks.push_back(procs[i].rank);
  }
  std::string bytes(data == nullptr ? "" : std::string(data, size));
  std::free(data);
  auto* const events = the_events.load();
  if (events == nullptr) return PMIX_ERR_NOT_AVAILABLE;
  events->fence(std::move(ranks), std::move(bytes), answer_to(callback, state));
  return PMIX_SUCCESS;
}

pmix_status_t on_fetch(const pmix_proc_t* proc, const pmix_info_t*, std::size_t,
                       pmix_modex_cbfunc_t callback, void* state) {
  auto* const events = the_events.load();
  if (events == nullptr) return PMIX_ERR_NOT_AVAILABLE;
  events->fetch(proc->rank, answer_to(callback, state));
  return PMIX_SUCCESS;
}

pmix_server_module_t make_module() {
  pmix_server_module_t module;
  std::memset(&module, 0, sizeof module);
  module.client_connected2 = on_connected;
  module.client_finalized = on_finalized;
  module.abort = on_abort;
  module.fence_nb = on_fence;
  module.direct_modex = on_fetch;
  return module;
}

pmix_proc_t proc_of(const std::string& nspace, pmix_rank_t rank) {
  pmix_proc_t proc;
  std::memset(&proc, 0, sizeof proc);
  std::strncpy(proc.nspace, nspace.c_str(), PMIX_MAX_NSLEN);
  proc.rank = rank;
  return proc;
}

/// "n1,n2" and "0,1;2,3", and what PMIx makes of them.
struct Map {
  std::string nodes;
  std::string ranks;
  std::vector<std::uint32_t> first;
};
Map map_of(const proto::PmixOrder& order) {
  Map map;
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < order.nodes.size(); ++i) {
    map.first.push_back(next);
    map.nodes += (i == 0 ? "" : ",") + order.nodes[i];
    if (i > 0) map.ranks += ';';
    for (std::uint32_t local = 0; local < order.tasks[i]; ++local)
      map.ranks += (local == 0 ? "" : ",") + std::to_string(next++);
  }
  return map;
}

}  // namespace

std::string pmix_error_text(int status) { return PMIx_Error_string(status); }
int pmix_lost() { return PMIX_ERR_LOST_CONNECTION; }

PmixServer::PmixServer(const proto::PmixOrder& order, Events events)
    : order_(order), events_(std::move(events)) {}

Result<std::unique_ptr<PmixServer>> PmixServer::open(const proto::PmixOrder& order,
                                                     const std::string& directory, Events events) {
  std::unique_ptr<PmixServer> server(new PmixServer(order, std::move(events)));
  ROTA_CHECK(server->start(directory));
  ROTA_CHECK(server->register_tasks());
  return server;
}

PmixServer::~PmixServer() {
  the_events = nullptr;
  PMIx_server_finalize();
}

Result<void> PmixServer::start(const std::string& directory) {
  static pmix_server_module_t module = make_module();
  the_events = &events_;
  Infos infos;
  infos.text(PMIX_SERVER_TMPDIR, directory);
  infos.text(PMIX_SYSTEM_TMPDIR, directory);
  infos.text(PMIX_HOSTNAME, order_.nodes[order_.place]);
  infos.text(PMIX_SERVER_NSPACE, order_.nspace + ".server");
  infos.rank(PMIX_SERVER_RANK, order_.place);
  if (const auto status = PMIx_server_init(&module, infos.data(), infos.size());
      status != PMIX_SUCCESS)
    return failed("start", status);
  return {};
}

Result<void> PmixServer::register_tasks() {
  const Map map = map_of(order_);
  const std::uint32_t total =
      std::accumulate(order_.tasks.begin(), order_.tasks.end(), std::uint32_t{0});
  const std::uint32_t own = order_.tasks[order_.place];
  char* nodes = nullptr;
  char* ranks = nullptr;
  if (const auto status = PMIx_generate_regex(map.nodes.c_str(), &nodes); status != PMIX_SUCCESS)
    return failed("name the nodes", status);
  if (const auto status = PMIx_generate_ppn(map.ranks.c_str(), &ranks); status != PMIX_SUCCESS)
    return failed("number the tasks", status);
  std::string peers;
  for (std::uint32_t local = 0; local < own; ++local)
    peers += (local == 0 ? "" : ",") + std::to_string(map.first[order_.place] + local);
  Infos infos;
  infos.text(PMIX_JOBID, order_.nspace);
  infos.number(PMIX_UNIV_SIZE, total);
  infos.number(PMIX_JOB_SIZE, total);
  infos.number(PMIX_MAX_PROCS, total);
  infos.number(PMIX_LOCAL_SIZE, own);
  infos.number(PMIX_NODE_SIZE, own);
  infos.number(PMIX_NUM_NODES, static_cast<std::uint32_t>(order_.nodes.size()));
  infos.number(PMIX_JOB_NUM_APPS, 1);
  infos.pattern(PMIX_NODE_MAP, nodes);
  infos.pattern(PMIX_PROC_MAP, ranks);
  infos.text(PMIX_LOCAL_PEERS, peers);
  infos.rank(PMIX_LOCALLDR, map.first[order_.place]);
  std::deque<Infos> groups;
  for (std::uint32_t place = 0; place < order_.nodes.size(); ++place)
    for (std::uint32_t local = 0; local < order_.tasks[place]; ++local) {
      Infos& task = groups.emplace_back();
      task.rank(PMIX_RANK, map.first[place] + local);
      task.number(PMIX_APPNUM, 0);
      task.rank(PMIX_GLOBAL_RANK, map.first[place] + local);
      task.rank(PMIX_APP_RANK, map.first[place] + local);
      task.small(PMIX_LOCAL_RANK, static_cast<std::uint16_t>(local));
      task.small(PMIX_NODE_RANK, static_cast<std::uint16_t>(local));
      task.number(PMIX_NODEID, place);
      task.text(PMIX_HOSTNAME, order_.nodes[place]);
      infos.group(PMIX_PROC_DATA, task);
    }
  Ending ending;
  const auto status =
      ending.wait(PMIx_server_register_nspace(order_.nspace.c_str(), static_cast<int>(own),
                                              infos.data(), infos.size(), Ending::done, &ending));
  std::free(nodes);
  std::free(ranks);
  if (status != PMIX_SUCCESS) return failed("take the step", status);
  for (std::uint32_t local = 0; local < own; ++local) {
    const pmix_proc_t proc = proc_of(order_.nspace, map.first[order_.place] + local);
    Ending one;
    const auto added = one.wait(
        PMIx_server_register_client(&proc, ::geteuid(), ::getegid(), nullptr, Ending::done, &one));
    if (added != PMIX_SUCCESS) return failed("take a task", added);
  }
  return {};
}

Result<std::vector<std::string>> PmixServer::variables_of(std::uint32_t rank) const {
  const pmix_proc_t proc = proc_of(order_.nspace, rank);
  char** list = nullptr;
  if (const auto status = PMIx_server_setup_fork(&proc, &list); status != PMIX_SUCCESS)
    return failed("prepare a task", status);
  std::vector<std::string> variables;
  for (char** at = list; at != nullptr && *at != nullptr; ++at) {
    variables.emplace_back(*at);
    std::free(*at);
  }
  std::free(list);
  return variables;
}

void PmixServer::local(std::uint32_t rank, Done done) const {
  const pmix_proc_t proc = proc_of(order_.nspace, rank);
  auto* const kept = new Done(std::move(done));
  const auto answered = [](pmix_status_t status, char* data, std::size_t size, void* it) {
    const std::unique_ptr<Done> answer(static_cast<Done*>(it));
    (*answer)(status, data == nullptr ? std::string() : std::string(data, size));
  };
  if (const auto status = PMIx_server_dmodex_request(&proc, answered, kept);
      status != PMIX_SUCCESS) {
    (*kept)(status, {});
    delete kept;
  }
}

}  // namespace rota::gpud
