-- ctld/store/migrations/0004-usage.sql - what users have used of late, and parts of GPUs in the ledger.
CREATE TABLE usage (
  project TEXT NOT NULL,
  user TEXT NOT NULL,
  gpu_us INTEGER NOT NULL,         -- GPU microseconds, less what was forgotten by then
  at_us INTEGER NOT NULL,          -- microseconds since 1970 UTC
  PRIMARY KEY (project, user)
) WITHOUT ROWID;

-- Millionths of GPUs: of a job that shares its GPUs less than gpu_count.
ALTER TABLE allocations ADD COLUMN gpu_amount INTEGER NOT NULL DEFAULT 0;
UPDATE allocations SET gpu_amount = gpu_count * 1000000;

-- What was held of late is read when a controller starts and the past counts (scheduler.history_weight).
CREATE INDEX allocations_by_end ON allocations (end_us);
