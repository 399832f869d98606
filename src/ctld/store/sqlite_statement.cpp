// ctld/store/sqlite_statement.cpp - opening, preparing, and SQLite's failures in our words.
#include "ctld/store/sqlite_statement.h"

#include "common/format.h"

namespace rota::ctld::sqlite {

Result<void> Database::open(const std::string& path) {
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &handle,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK)
    return Error{Errc::store_unavailable, format("{}: {}", path, sqlite3_errstr(code))};
  sqlite3_busy_timeout(handle, 5000);
  return {};
}

Result<void> Database::run(const std::string& sql) {
  if (sqlite3_exec(get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  const Error failure = error();
  if (in_transaction()) sqlite3_exec(get(), "ROLLBACK", nullptr, nullptr, nullptr);
  return failure;
}

Error Database::error() const {
  const int code = sqlite3_errcode(get());
  const char* file = sqlite3_db_filename(get(), "main");
  std::string detail = format("{}: {}", file == nullptr ? "?" : file, sqlite3_errmsg(get()));
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
    return {Errc::store_corrupt, std::move(detail)};
  return {Errc::store_unavailable, std::move(detail)};
}

Result<void> Statement::prepare(Database& database, const char* sql) {
  database_ = &database;
  sqlite3_stmt* handle = nullptr;
  const int code =
      sqlite3_prepare_v3(database.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) return database.error();
  return {};
}

void Statement::reset() {
  sqlite3_reset(handle_.get());
  sqlite3_clear_bindings(handle_.get());
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return database_->error();
}

std::string Statement::blob(int column) const {
  const void* bytes = sqlite3_column_blob(handle_.get(), column);
  const int size = sqlite3_column_bytes(handle_.get(), column);
  return bytes == nullptr
             ? std::string()
             : std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

}  // namespace rota::ctld::sqlite
