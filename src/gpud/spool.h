// gpud/spool.h - rgpud's memory on disk: one record per run, and the socket that rstepds call.
//
// SPOOL/lock       held while an rgpud uses the directory
// SPOOL/runs/      records (launch/record.h), for us only
// SPOOL/scripts/   batch scripts while they run, each for its owner only
// SPOOL/logins     which images came with somebody's login (container/logins.h)
// SPOOL/mig        which MIG instances are ours (mig/ledger.h)
// SPOOL/images     images that jobs used, and which of them are ours (container/cache.h)
// SPOOL/mps/       a directory for each MPS daemon (mps/place.h)
// SPOOL/prolog/    runs whose epilog is still to come (prolog.h)
// SPOOL/steps.sock where an rstepd reports after rgpud was restarted
#pragma once
#include <string>
#include <vector>

#include "common/result.h"
#include "gpud/launch/file.h"
#include "gpud/launch/record.h"

namespace rota::gpud {

class Spool {
 public:
  /// Makes what is missing of the directory and takes it for this process. Scripts without a record
  /// are removed.
  static Result<Spool> open(const std::string& directory);

  const std::string& directory() const { return directory_; }
  std::string scripts_directory() const { return directory_ + "/scripts"; }
  /// Eight hex digits that no other spool directory of this host has.
  std::string id() const;

  /// A new record with the order in it, open and locked: whoever holds the file holds the run.
  Result<Fd> create(const StepOrder& order);

  struct Found {
    RunId run;
    Record record;
    bool is_alive = false;  // an rstepd holds it
    std::string trouble;    // why the record cannot be used; "" when it can
  };
  /// Every run with a record, by RunId.
  std::vector<Found> scan() const;
  Found look(RunId run) const;
  /// Whether an rstepd holds the run's record; false also when there is none.
  bool is_alive(RunId run) const;
  void remove(RunId run) const;

  /// A listening socket at steps.sock, in place of the last one.
  Result<Fd> listen() const;

 private:
  std::string record_path(RunId run) const;

  std::string directory_;
  Fd lock_;
};

}  // namespace rota::gpud
