// ctld/store/sqlite_org.cpp - departments, projects, queues and users in SQLite.
#include "ctld/store/sqlite_org.h"

#include "common/format.h"
#include "model/org_keys.h"
#include "proto/codec.h"

namespace rota::ctld::sqlite {
namespace {

const std::string& parent_of(const Department& item) { return item.parent; }
const std::string& parent_of(const Project& item) { return item.department; }
const std::string& parent_of(const Queue&) {
  static const std::string none;
  return none;
}
const std::string& parent_of(const UserDefaults& item) { return item.project; }

template <class T>
Result<void> take(const std::string& record, std::vector<T>& list) {
  ROTA_TRY(auto item, proto::decode<T>(record));
  list.push_back(std::move(item));
  return {};
}

Result<void> take_record(std::int64_t kind, const std::string& record, Org& org) {
  switch (static_cast<OrgKind>(kind)) {
    case OrgKind::department:
      return take(record, org.departments);
    case OrgKind::project:
      return take(record, org.projects);
    case OrgKind::queue:
      return take(record, org.queues);
    case OrgKind::user:
      return take(record, org.users);
  }
  return Error{Errc::malformed, format("kind {} is not known", kind)};
}

}  // namespace

Result<void> OrgTables::prepare(Database& writer) {
  ROTA_CHECK(put_.prepare(writer, "INSERT OR REPLACE INTO org VALUES (?1,?2,?3,?4)"));
  ROTA_CHECK(drop_.prepare(writer, "DELETE FROM org WHERE kind=?1 AND name=?2"));
  return revise_.prepare(writer, "INSERT OR REPLACE INTO org_revision VALUES (1,?1,?2)");
}

Result<void> OrgTables::put(const OrgPut& row) {
  return std::visit(
      [this](const auto& item) {
        const auto kind = org_kind_of<std::remove_cvref_t<decltype(item)>>;
        const std::string record = proto::encode(item);
        return put_.run(static_cast<int>(kind), item.name, parent_of(item), Blob{record});
      },
      row.item);
}

Result<void> OrgTables::put(const OrgDrop& row) {
  return drop_.run(static_cast<int>(row.kind), row.name);
}

Result<void> OrgTables::put(const OrgRevision& row) {
  return revise_.run(row.revision, row.serial_last);
}

Result<void> load_org(Database& reader, const std::string& path, Snapshot& snapshot) {
  Statement items;
  ROTA_CHECK(items.prepare(reader, "SELECT kind, name, record FROM org ORDER BY kind, name"));
  for (;;) {
    ROTA_TRY(const bool more, items.step());
    if (!more) break;
    if (auto taken = take_record(items.integer(0), items.blob(2), snapshot.org); !taken)
      return Error{Errc::store_corrupt, format("{}: record of {} {}: {}", path,
                                               name_of(static_cast<OrgKind>(items.integer(0))),
                                               items.blob(1), taken.error().message())};
  }
  Statement revision;
  ROTA_CHECK(revision.prepare(reader, "SELECT revision, serial_last FROM org_revision"));
  ROTA_TRY(const bool any, revision.step());
  if (any)
    snapshot.org_revision = {static_cast<std::uint64_t>(revision.integer(0)),
                             static_cast<std::uint64_t>(revision.integer(1))};
  return {};
}

}  // namespace rota::ctld::sqlite
