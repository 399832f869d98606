-- ctld/store/migrations/0006-run-usage.sql - what runs did with their GPUs, once they have ended.
ALTER TABLE allocations ADD COLUMN gpu_sampled_ms INTEGER NOT NULL DEFAULT 0;       -- GPU time that was looked at
ALTER TABLE allocations ADD COLUMN gpu_busy_ms INTEGER NOT NULL DEFAULT 0;          -- of it, weighed by utilisation
ALTER TABLE allocations ADD COLUMN energy_mj INTEGER NOT NULL DEFAULT 0;            -- millijoules of its GPUs
ALTER TABLE allocations ADD COLUMN gpu_memory_max_bytes INTEGER NOT NULL DEFAULT 0; -- the most in use at once
