-- ctld/store/migrations/0010-arrays.sql - tasks of arrays say whose they are.
ALTER TABLE jobs ADD COLUMN array_id INTEGER NOT NULL DEFAULT 0;     -- 0: of none
ALTER TABLE jobs ADD COLUMN array_index INTEGER NOT NULL DEFAULT 0;
CREATE INDEX jobs_of_arrays ON jobs (array_id) WHERE array_id > 0;
