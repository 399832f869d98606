// ctld/store/sqlite.cpp - the embedded store; the only door to SQLite.
#include <sqlite3.h>

#include "common/clock.h"
#include "common/format.h"
#include "ctld/store/sqlite_org.h"
#include "ctld/store/sqlite_statement.h"
#include "ctld/store/store.h"
#include "proto/codec.h"

namespace rota::ctld {
namespace {

class SqliteStore final : public Store {
 public:
  explicit SqliteStore(std::string path) : path_(std::move(path)) {}

  Result<void> open();

  Result<void> commit(const std::vector<Row>& rows) override;
  Result<void> probe() override;
  Result<Snapshot> load(std::uint64_t ended_kept, WallTime past_since) override;
  Result<std::optional<JobPayload>> payload(JobId job) override;
  Result<std::optional<std::string>> secret(std::uint32_t uid, const std::string& name) override;

 private:
  Result<void> migrate();
  Result<void> prepare();
  Result<void> in_transaction(const std::function<Result<void>()>& write);
  Result<void> load_jobs(Snapshot& snapshot, std::uint64_t ended_kept);
  Result<void> load_ended_tasks(Snapshot& snapshot);
  Result<void> load_nodes(Snapshot& snapshot);
  Result<void> load_requests(Snapshot& snapshot);
  Result<void> load_usage(Snapshot& snapshot);
  Result<void> load_past(Snapshot& snapshot, WallTime since);
  Result<void> load_health(Snapshot& snapshot);
  Result<void> load_secrets(Snapshot& snapshot);

  Result<void> put(const JobPut& row);
  Result<void> put(const PayloadPut& row);
  Result<void> put(const PayloadDrop& row);
  Result<void> put(const NodePut& row);
  Result<void> put(const RequestPut& row);
  Result<void> put(const RequestDrop& row);
  Result<void> put(const AllocationPut& row);
  Result<void> put(const UsagePut& row);
  Result<void> put(const UsageDrop& row) { return drop_usage_.run(row.project, row.user); }
  Result<void> put(const HealthPut& row);
  Result<void> put(const HealthDrop& row) { return drop_health_.run(row.serial); }
  Result<void> put(const SecretPut& row);
  Result<void> put(const SecretDrop& row) { return drop_secret_.run(row.uid, row.name); }
  Result<void> put(const OrgPut& row) { return org_.put(row); }
  Result<void> put(const OrgDrop& row) { return org_.put(row); }
  Result<void> put(const OrgRevision& row) { return org_.put(row); }

  std::string path_;
  sqlite::Database writer_;
  sqlite::Database reader_;  // its own connection: reads go on while a commit is under way
  sqlite::Statement begin_, commit_, rollback_, probe_;
  sqlite::Statement put_job_, put_payload_, drop_payload_, put_node_, put_request_, drop_request_;
  sqlite::Statement open_allocation_, close_allocation_, put_usage_, drop_usage_;
  sqlite::Statement put_health_, drop_health_;
  sqlite::Statement put_secret_, drop_secret_;
  sqlite::Statement get_payload_, get_secret_;
  sqlite::OrgTables org_;
};

Result<void> SqliteStore::open() {
  ROTA_CHECK(writer_.open(path_));
  ROTA_CHECK(writer_.run("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"));
  ROTA_CHECK(migrate());
  ROTA_CHECK(prepare());
  ROTA_CHECK(reader_.open(path_));
  ROTA_CHECK(get_secret_.prepare(reader_, "SELECT sealed FROM secrets WHERE uid=?1 AND name=?2"));
  return get_payload_.prepare(reader_, "SELECT payload FROM payloads WHERE job = ?1");
}

Result<void> SqliteStore::migrate() {
  sqlite::Statement version;
  ROTA_CHECK(version.prepare(writer_, "PRAGMA user_version"));
  ROTA_TRY(const bool any, version.step());
  const std::int64_t have = any ? version.integer(0) : 0;
  version.reset();
  const auto want = static_cast<std::int64_t>(store_migrations.size());
  if (have > want)
    return Error{
        Errc::store_corrupt,
        format("{} has schema {}, this rctld knows up to {}: it was written by a newer release",
               path_, have, want)};
  for (std::int64_t i = have; i < want; ++i)
    ROTA_CHECK(writer_.run(format("BEGIN IMMEDIATE; {}; PRAGMA user_version={}; COMMIT;",
                                  store_migrations[static_cast<std::size_t>(i)], i + 1)));
  return {};
}

Result<void> SqliteStore::prepare() {
  ROTA_CHECK(begin_.prepare(writer_, "BEGIN IMMEDIATE"));
  ROTA_CHECK(commit_.prepare(writer_, "COMMIT"));
  ROTA_CHECK(rollback_.prepare(writer_, "ROLLBACK"));
  ROTA_CHECK(probe_.prepare(writer_, "INSERT OR REPLACE INTO probe VALUES (1, ?1)"));
  ROTA_CHECK(put_job_.prepare(
      writer_,
      "INSERT INTO jobs VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18)"
      " ON CONFLICT (id) DO UPDATE SET state=?2, restarts=?9, start_us=?11, end_us=?12,"
      " exit_code=?13, exit_signal=?14, elapsed_ms=?15, record=?16"));
  ROTA_CHECK(put_payload_.prepare(writer_, "INSERT OR REPLACE INTO payloads VALUES (?1,?2)"));
  ROTA_CHECK(drop_payload_.prepare(writer_, "DELETE FROM payloads WHERE job=?1"));
  ROTA_CHECK(put_node_.prepare(writer_, "INSERT OR REPLACE INTO nodes VALUES (?1,?2,?3)"));
  ROTA_CHECK(put_request_.prepare(writer_, "INSERT INTO requests VALUES (?1,?2,?3,?4,?5,?6,?7)"));
  ROTA_CHECK(drop_request_.prepare(writer_, "DELETE FROM requests WHERE sequence<=?1"));
  ROTA_CHECK(open_allocation_.prepare(
      writer_,
      "INSERT OR REPLACE INTO allocations VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,0,0,?10,"
      "0,0,0,0,?11)"));
  ROTA_CHECK(put_usage_.prepare(writer_, "INSERT OR REPLACE INTO usage VALUES (?1,?2,?3,?4)"));
  ROTA_CHECK(drop_usage_.prepare(writer_, "DELETE FROM usage WHERE project=?1 AND user=?2"));
  ROTA_CHECK(
      put_health_.prepare(writer_, "INSERT OR REPLACE INTO health VALUES (?1,?2,?3,?4,?5,?6,?7)"));
  ROTA_CHECK(drop_health_.prepare(writer_, "DELETE FROM health WHERE serial<=?1"));
  ROTA_CHECK(put_secret_.prepare(writer_, "INSERT OR REPLACE INTO secrets VALUES (?1,?2,?3,?4)"));
  ROTA_CHECK(drop_secret_.prepare(writer_, "DELETE FROM secrets WHERE uid=?1 AND name=?2"));
  ROTA_CHECK(org_.prepare(writer_));
  return close_allocation_.prepare(
      writer_,
      "UPDATE allocations SET end_us=?5, held_ms=iif(?6 >= 0, ?6, max(0, (?5 - start_us) / 1000)),"
      " gpu_sampled_ms=?7, gpu_busy_ms=?8, energy_mj=?9, gpu_memory_max_bytes=?10"
      " WHERE job=?1 AND restart=?2 AND growth=?3 AND node=?4");
}

Result<void> SqliteStore::in_transaction(const std::function<Result<void>()>& write) {
  ROTA_CHECK(begin_.run());
  auto result = write();
  if (result) result = commit_.run();
  // After some errors SQLite has rolled back by itself; then there is nothing left to undo.
  if (!result && writer_.in_transaction()) (void)rollback_.run();
  return result;
}

Result<void> SqliteStore::commit(const std::vector<Row>& rows) {
  return in_transaction([this, &rows]() -> Result<void> {
    for (const Row& row : rows)
      ROTA_CHECK(std::visit([this](const auto& r) { return put(r); }, row));
    return {};
  });
}

Result<void> SqliteStore::probe() {
  return in_transaction([this] { return probe_.run(wall_now().microseconds); });
}

Result<void> SqliteStore::put(const JobPut& row) {
  const Job& job = row.job;
  const std::string record = proto::encode(job);
  const LastRun& last = *job.last;
  const RunEnd end = last.end.value_or(RunEnd{});
  return put_job_.run(job.id.value, static_cast<int>(job.state), job.owner.user.str(),
                      job.owner.uid, job.spec.project.str(), job.spec.name, name_of(job.spec.kind),
                      job.spec.gpu_devices(), job.restarts, job.submit_time.microseconds,
                      last.start_time.microseconds, job.end_time.microseconds, end.exit_code,
                      end.exit_signal, last.elapsed_ms, sqlite::Blob{record}, job.array->of.value,
                      job.array->index);
}

Result<void> SqliteStore::put(const PayloadPut& row) {
  const std::string payload = proto::encode(row.payload);
  return put_payload_.run(row.job.value, sqlite::Blob{payload});
}

Result<void> SqliteStore::put(const PayloadDrop& row) { return drop_payload_.run(row.job.value); }

Result<void> SqliteStore::put(const NodePut& row) {
  const std::string record = proto::encode(row.node);
  return put_node_.run(row.node.id.value, row.node.identity.name, sqlite::Blob{record});
}

Result<void> SqliteStore::put(const RequestPut& row) {
  const StoredRequest& request = row.request;
  return put_request_.run(request.sequence, request.uid, request.request.high, request.request.low,
                          request.reply_type, sqlite::Blob{request.reply}, request.at.microseconds);
}

Result<void> SqliteStore::put(const RequestDrop& row) { return drop_request_.run(row.sequence); }

Result<void> SqliteStore::put(const AllocationPut& row) {
  if (row.end)
    return close_allocation_.run(row.run.job.value, row.run.restart, row.run.growth, row.node.value,
                                 row.end.microseconds, row.held_ms, row.usage.sampled_ms,
                                 row.usage.busy_ms, row.usage.energy_mj,
                                 row.usage.memory_max_bytes);
  std::string gpus;
  for (const auto& uuid : row.gpu_uuids) gpus += (gpus.empty() ? "" : ",") + uuid;
  return open_allocation_.run(row.run.job.value, row.run.restart, row.run.growth, row.node.value,
                              gpus, row.gpu_uuids.size(), row.cpu_count, row.memory_bytes,
                              row.start.microseconds, row.gpu_amount, row.is_charged);
}

Result<void> SqliteStore::put(const UsagePut& row) {
  const StoredUsage& usage = row.usage;
  return put_usage_.run(usage.project, usage.user, usage.gpu_us, usage.at.microseconds);
}

Result<void> SqliteStore::put(const HealthPut& row) {
  const HealthEvent& event = row.event;
  const std::string record = proto::encode(event);
  return put_health_.run(row.serial, event.node, event.uuid, event.at.microseconds, event.xid,
                         event.text, sqlite::Blob{record});
}

Result<void> SqliteStore::put(const SecretPut& row) {
  const StoredSecret& secret = row.secret;
  return put_secret_.run(secret.uid, secret.name, secret.changed.microseconds,
                         sqlite::Blob{row.sealed});
}

Result<Snapshot> SqliteStore::load(std::uint64_t ended_kept, WallTime past_since) {
  Snapshot snapshot;
  ROTA_CHECK(load_jobs(snapshot, ended_kept));
  ROTA_CHECK(load_ended_tasks(snapshot));
  ROTA_CHECK(load_nodes(snapshot));
  ROTA_CHECK(load_requests(snapshot));
  ROTA_CHECK(load_usage(snapshot));
  ROTA_CHECK(load_health(snapshot));
  ROTA_CHECK(load_secrets(snapshot));
  if (past_since) ROTA_CHECK(load_past(snapshot, past_since));
  ROTA_CHECK(sqlite::load_org(reader_, path_, snapshot));
  return snapshot;
}

Result<void> SqliteStore::load_jobs(Snapshot& snapshot, std::uint64_t ended_kept) {
  sqlite::Statement last;
  ROTA_CHECK(last.prepare(reader_, "SELECT coalesce(max(id), 0) FROM jobs"));
  ROTA_TRY(const bool any, last.step());
  if (any) snapshot.job_last = JobId{static_cast<std::uint64_t>(last.integer(0))};
  sqlite::Statement jobs;
  ROTA_CHECK(jobs.prepare(reader_,
                          "SELECT id, record FROM jobs WHERE state < 10"
                          " UNION ALL SELECT * FROM (SELECT id, record FROM jobs WHERE state >= 10"
                          " ORDER BY id DESC LIMIT ?1) ORDER BY id"));
  ROTA_CHECK(jobs.bind(ended_kept));
  for (;;) {
    ROTA_TRY(const bool more, jobs.step());
    if (!more) return {};
    auto job = proto::decode<Job>(jobs.blob(1));
    if (!job)
      return Error{Errc::store_corrupt, format("{}: record of job {}: {}", path_, jobs.integer(0),
                                               job.error().message())};
    snapshot.jobs.push_back(*std::move(job));
  }
}

Result<void> SqliteStore::load_ended_tasks(Snapshot& snapshot) {
  sqlite::Statement tasks;
  ROTA_CHECK(tasks.prepare(
      reader_,
      "SELECT task.array_id, task.array_index, task.state, task.exit_code FROM jobs AS task"
      " JOIN jobs AS array ON array.id = task.array_id"
      " WHERE task.array_id > 0 AND task.state >= 10 AND array.state < 10"));
  for (;;) {
    ROTA_TRY(const bool more, tasks.step());
    if (!more) return {};
    snapshot.ended_tasks.push_back({JobId{static_cast<std::uint64_t>(tasks.integer(0))},
                                    static_cast<std::uint32_t>(tasks.integer(1)),
                                    static_cast<JobState>(tasks.integer(2)),
                                    static_cast<std::int32_t>(tasks.integer(3))});
  }
}

Result<void> SqliteStore::load_nodes(Snapshot& snapshot) {
  sqlite::Statement nodes;
  ROTA_CHECK(nodes.prepare(reader_, "SELECT name, record FROM nodes ORDER BY id"));
  for (;;) {
    ROTA_TRY(const bool more, nodes.step());
    if (!more) return {};
    auto node = proto::decode<StoredNode>(nodes.blob(1));
    if (!node)
      return Error{Errc::store_corrupt, format("{}: record of node {}: {}", path_, nodes.blob(0),
                                               node.error().message())};
    snapshot.nodes.push_back(*std::move(node));
  }
}

Result<void> SqliteStore::load_requests(Snapshot& snapshot) {
  sqlite::Statement requests;
  ROTA_CHECK(requests.prepare(
      reader_,
      "SELECT sequence, uid, high, low, reply_type, reply, at_us FROM requests ORDER BY sequence"));
  for (;;) {
    ROTA_TRY(const bool more, requests.step());
    if (!more) return {};
    StoredRequest request;
    request.sequence = static_cast<std::uint64_t>(requests.integer(0));
    request.uid = static_cast<std::uint32_t>(requests.integer(1));
    request.request.high = static_cast<std::uint64_t>(requests.integer(2));
    request.request.low = static_cast<std::uint64_t>(requests.integer(3));
    request.reply_type = static_cast<std::uint16_t>(requests.integer(4));
    request.reply = requests.blob(5);
    request.at = {requests.integer(6)};
    snapshot.requests.push_back(std::move(request));
  }
}

Result<void> SqliteStore::load_usage(Snapshot& snapshot) {
  sqlite::Statement usage;
  ROTA_CHECK(usage.prepare(reader_, "SELECT project, user, gpu_us, at_us FROM usage"));
  for (;;) {
    ROTA_TRY(const bool more, usage.step());
    if (!more) return {};
    snapshot.usage.push_back({std::string(usage.blob(0)),
                              std::string(usage.blob(1)),
                              usage.integer(2),
                              {usage.integer(3)}});
  }
}

Result<void> SqliteStore::load_health(Snapshot& snapshot) {
  sqlite::Statement events;
  ROTA_CHECK(events.prepare(reader_, "SELECT serial, record FROM health ORDER BY serial"));
  for (;;) {
    ROTA_TRY(const bool more, events.step());
    if (!more) return {};
    auto event = proto::decode<HealthEvent>(events.blob(1));
    if (!event)
      return Error{Errc::store_corrupt, format("{}: event {} of health: {}", path_,
                                               events.integer(0), event.error().message())};
    snapshot.health.push_back({static_cast<std::uint64_t>(events.integer(0)), *std::move(event)});
  }
}

Result<void> SqliteStore::load_secrets(Snapshot& snapshot) {
  sqlite::Statement secrets;
  ROTA_CHECK(secrets.prepare(reader_, "SELECT uid, name, changed_us FROM secrets"));
  for (;;) {
    ROTA_TRY(const bool more, secrets.step());
    if (!more) return {};
    snapshot.secrets.push_back(
        {static_cast<std::uint32_t>(secrets.integer(0)), secrets.blob(1), {secrets.integer(2)}});
  }
}

Result<void> SqliteStore::load_past(Snapshot& snapshot, WallTime since) {
  sqlite::Statement past;
  ROTA_CHECK(past.prepare(reader_,
                          "SELECT project, gpu_amount, cpus, memory_bytes, allocations.start_us,"
                          " allocations.end_us FROM allocations JOIN jobs ON jobs.id = job"
                          " WHERE charged AND (allocations.end_us = 0 OR"
                          " allocations.end_us > ?1)"));
  ROTA_CHECK(past.bind(since.microseconds));
  for (;;) {
    ROTA_TRY(const bool more, past.step());
    if (!more) return {};
    snapshot.past.push_back({.project = past.blob(0),
                             .gpu_amount = past.integer(1),
                             .cpu_count = static_cast<std::uint32_t>(past.integer(2)),
                             .memory_bytes = static_cast<std::uint64_t>(past.integer(3)),
                             .start = {past.integer(4)},
                             .end = {past.integer(5)}});
  }
}

Result<std::optional<JobPayload>> SqliteStore::payload(JobId job) {
  sqlite::ResetGuard guard(get_payload_);
  ROTA_CHECK(get_payload_.bind(job.value));
  ROTA_TRY(const bool found, get_payload_.step());
  if (!found) return std::optional<JobPayload>();
  ROTA_TRY(auto payload, proto::decode<JobPayload>(get_payload_.blob(0)));
  return std::optional<JobPayload>(std::move(payload));
}

Result<std::optional<std::string>> SqliteStore::secret(std::uint32_t uid, const std::string& name) {
  sqlite::ResetGuard guard(get_secret_);
  ROTA_CHECK(get_secret_.bind(uid, name));
  ROTA_TRY(const bool found, get_secret_.step());
  if (!found) return std::optional<std::string>();
  return std::optional<std::string>(get_secret_.blob(0));
}

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite(const std::string& path) {
  auto store = std::make_unique<SqliteStore>(path);
  ROTA_CHECK(store->open());
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace rota::ctld
