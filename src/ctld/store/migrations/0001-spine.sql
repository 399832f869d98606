-- ctld/store/migrations/0001-spine.sql - the first schema: current state and history in one place.
-- What has not ended is what runs; the rest is accounting.
CREATE TABLE jobs (
  id INTEGER PRIMARY KEY,
  state INTEGER NOT NULL,          -- model/job.h JobState
  user TEXT NOT NULL,
  uid INTEGER NOT NULL,
  project TEXT NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  gpus INTEGER NOT NULL,
  restarts INTEGER NOT NULL,
  submit_us INTEGER NOT NULL,      -- microseconds since 1970 UTC; 0: never
  start_us INTEGER NOT NULL,
  end_us INTEGER NOT NULL,
  exit_code INTEGER,
  exit_signal INTEGER,
  elapsed_ms INTEGER NOT NULL,
  record BLOB NOT NULL             -- the whole Job, in the wire's encoding
);
CREATE INDEX jobs_live ON jobs (id) WHERE state < 10;

CREATE TABLE payloads (
  job INTEGER PRIMARY KEY,
  payload BLOB NOT NULL
);

CREATE TABLE nodes (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  record BLOB NOT NULL
);

CREATE TABLE requests (
  uid INTEGER NOT NULL,
  high INTEGER NOT NULL,
  low INTEGER NOT NULL,
  reply_type INTEGER NOT NULL,
  reply BLOB NOT NULL,
  at_us INTEGER NOT NULL,
  PRIMARY KEY (uid, high, low)
) WITHOUT ROWID;

-- One row per run and node: what it held, and for how long. Bills are sums over this.
CREATE TABLE allocations (
  job INTEGER NOT NULL,
  restart INTEGER NOT NULL,
  node INTEGER NOT NULL,
  gpus TEXT NOT NULL,              -- UUIDs, comma-separated
  gpu_count INTEGER NOT NULL,
  cpus INTEGER NOT NULL,
  memory_bytes INTEGER NOT NULL,
  start_us INTEGER NOT NULL,
  end_us INTEGER NOT NULL,         -- 0: still held
  held_ms INTEGER NOT NULL,        -- by a clock that does not step, once it has ended
  PRIMARY KEY (job, restart, node)
) WITHOUT ROWID;

CREATE TABLE probe (
  id INTEGER PRIMARY KEY,
  at_us INTEGER NOT NULL
);
