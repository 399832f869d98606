-- ctld/store/migrations/0005-growth.sql - a job that grows, shrinks and grows again can hold a node
-- several times in one run.
ALTER TABLE allocations RENAME TO allocations_by_run;
DROP INDEX allocations_by_end;
CREATE TABLE allocations (
  job INTEGER NOT NULL,
  restart INTEGER NOT NULL,
  growth INTEGER NOT NULL,         -- 0: what the run started with
  node INTEGER NOT NULL,
  gpus TEXT NOT NULL,              -- UUIDs, comma-separated
  gpu_count INTEGER NOT NULL,
  cpus INTEGER NOT NULL,
  memory_bytes INTEGER NOT NULL,
  start_us INTEGER NOT NULL,
  end_us INTEGER NOT NULL,         -- 0: still held
  held_ms INTEGER NOT NULL,        -- by a clock that does not step, once it has ended
  gpu_amount INTEGER NOT NULL,     -- millionths of GPUs
  PRIMARY KEY (job, restart, growth, node)
) WITHOUT ROWID;
INSERT INTO allocations
  SELECT job, restart, 0, node, gpus, gpu_count, cpus, memory_bytes, start_us, end_us, held_ms, gpu_amount
  FROM allocations_by_run;
DROP TABLE allocations_by_run;
CREATE INDEX allocations_by_end ON allocations (end_us);
