-- ctld/store/migrations/0008-charged.sql - jobs in the background are charged to nobody.
ALTER TABLE allocations ADD COLUMN charged INTEGER NOT NULL DEFAULT 1;
