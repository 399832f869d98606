-- ctld/store/migrations/0007-health.sql - what has happened to GPUs and nodes; the oldest go.
CREATE TABLE health (
  serial INTEGER PRIMARY KEY,      -- ascending, as it was told
  node TEXT NOT NULL,
  uuid TEXT NOT NULL,              -- of the GPU; '': the node itself
  at_us INTEGER NOT NULL,          -- microseconds since 1970 UTC
  xid INTEGER NOT NULL,            -- 0: none
  text TEXT NOT NULL,
  record BLOB NOT NULL
);
