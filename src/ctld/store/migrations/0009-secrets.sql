-- ctld/store/migrations/0009-secrets.sql - what users keep secret, each sealed with the controller's key.
CREATE TABLE secrets (
  uid INTEGER NOT NULL,
  name TEXT NOT NULL,              -- of a login to a registry: registry/HOST
  changed_us INTEGER NOT NULL,     -- microseconds since 1970 UTC
  sealed BLOB NOT NULL,            -- net/seal_text.h, bound to uid and name
  PRIMARY KEY (uid, name)
);
