// gpud/launch/record.h - the file that outlives rgpud and rstepd: one run's order, start and end.
//
// runs/JOB.RESTART is a journal: a magic word, then entries with their own check sum. rgpud writes
// the order, takes a lock on the open file and hands that open file to rstepd, which appends its
// start and its end. So the lock is free exactly when no rstepd is left, from the first moment on,
// and nothing here depends on process ids. Nothing is synced: after a power failure the processes
// are gone too, and the boot id tells.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "common/result.h"
#include "gpud/launch/order.h"

namespace rota::gpud {

struct RecordStart {
  WallTime start_time;
  static auto fields(auto& m) { return std::tie(m.start_time); }
};
struct RecordEnd {
  RunEnd end;
  WallTime start_time;
  static auto fields(auto& m) { return std::tie(m.end, m.start_time); }
};

/// What a record says. Entries that are cut short or damaged, and all behind them, are not there.
struct Record {
  std::optional<StepOrder> order;
  std::optional<RecordStart> start;
  std::optional<RecordEnd> end;
};

/// The bytes of a new record.
std::string record_new(const StepOrder& order);
Record record_parse(std::string_view bytes);

/// Appends to the open record. Fails on a full disk, and then leaves what was there.
Result<void> record_append(int fd, const RecordStart& start);
Result<void> record_append(int fd, const RecordEnd& end);

/// Reads the whole file from its beginning; the file's position is not moved.
Result<std::string> record_read(int fd);

/// "12.0": the name of a run in files and cgroups.
std::string run_name(RunId run);
std::optional<RunId> run_from_name(std::string_view name);

}  // namespace rota::gpud
