// ctld/store/sqlite_statement.h - SQLite's handles with our errors, for ctld/store/sqlite.cpp
// alone.
#pragma once
#include <sqlite3.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/result.h"

namespace rota::ctld::sqlite {

/// A string that goes into a BLOB column. Refers to the caller's bytes, which outlive the step.
struct Blob {
  const std::string& bytes;
};

class Database {
 public:
  Result<void> open(const std::string& path);
  /// Statements without results.
  Result<void> run(const std::string& sql);
  bool in_transaction() const { return sqlite3_get_autocommit(handle_.get()) == 0; }
  sqlite3* get() const { return handle_.get(); }
  /// The last failure in our words: a full or read-only disk is store_unavailable.
  Error error() const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  std::unique_ptr<sqlite3, Close> handle_;
};

class Statement {
 public:
  Result<void> prepare(Database& database, const char* sql);
  void reset();
  /// Binds all parameters, ?1 first.
  template <class... Values>
  Result<void> bind(const Values&... values) {
    int index = 0;
    if (((bind_one(++index, values) != SQLITE_OK) || ...)) return database_->error();
    return {};
  }
  /// True: a row is there to read. False: done.
  Result<bool> step();
  /// Binds, steps to the end and resets.
  template <class... Values>
  Result<void> run(const Values&... values) {
    ROTA_CHECK(bind(values...));
    const int code = sqlite3_step(handle_.get());
    Result<void> result;
    if (code != SQLITE_DONE && code != SQLITE_ROW) result = database_->error();
    reset();
    return result;
  }

  std::int64_t integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }
  std::string blob(int column) const;

 private:
  template <std::integral Number>
  int bind_one(int index, Number number) {
    return sqlite3_bind_int64(handle_.get(), index, static_cast<sqlite3_int64>(number));
  }
  int bind_one(int index, std::string_view text) {
    return sqlite3_bind_text(handle_.get(), index, text.data(), static_cast<int>(text.size()),
                             SQLITE_STATIC);
  }
  int bind_one(int index, const std::string& text) {
    return bind_one(index, std::string_view(text));
  }
  int bind_one(int index, const Blob& blob) {
    return sqlite3_bind_blob64(handle_.get(), index, blob.bytes.data(), blob.bytes.size(),
                               SQLITE_STATIC);
  }

  struct Finalize {
    void operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }
  };
  Database* database_ = nullptr;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

/// Resets a statement at the end of a scope, so that no read transaction stays open.
class ResetGuard {
 public:
  explicit ResetGuard(Statement& statement) : statement_(statement) {}
  ~ResetGuard() { statement_.reset(); }
  ResetGuard(const ResetGuard&) = delete;
  ResetGuard& operator=(const ResetGuard&) = delete;

 private:
  Statement& statement_;
};

}  // namespace rota::ctld::sqlite
