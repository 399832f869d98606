// ctld/store/sqlite_org.h - the organisation's tables, for ctld/store/sqlite.cpp alone.
#pragma once
#include "common/result.h"
#include "ctld/rows.h"
#include "ctld/store/sqlite_statement.h"

namespace rota::ctld::sqlite {

/// Writes the organisation's rows with statements of one connection, inside its transaction.
class OrgTables {
 public:
  Result<void> prepare(Database& writer);

  Result<void> put(const OrgPut& row);
  Result<void> put(const OrgDrop& row);
  Result<void> put(const OrgRevision& row);

 private:
  Statement put_, drop_, revise_;
};

/// Reads all of it.
Result<void> load_org(Database& reader, const std::string& path, Snapshot& snapshot);

}  // namespace rota::ctld::sqlite
