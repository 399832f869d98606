-- ctld/store/migrations/0002-requests-in-order.sql - answers by number instead of by random id: they
-- are written at the end and dropped from the front, and looked up only in memory.
ALTER TABLE requests RENAME TO requests_by_id;
CREATE TABLE requests (
  sequence INTEGER PRIMARY KEY,
  uid INTEGER NOT NULL,
  high INTEGER NOT NULL,
  low INTEGER NOT NULL,
  reply_type INTEGER NOT NULL,
  reply BLOB NOT NULL,
  at_us INTEGER NOT NULL
);
INSERT INTO requests (uid, high, low, reply_type, reply, at_us)
  SELECT uid, high, low, reply_type, reply, at_us FROM requests_by_id ORDER BY at_us;
DROP TABLE requests_by_id;
