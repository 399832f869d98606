-- ctld/store/migrations/0003-projects.sql - who may hold how much: departments, projects, queues, users.
CREATE TABLE org (
  kind INTEGER NOT NULL,           -- model/project.h OrgKind: 1 department, 2 project, 3 queue, 4 user
  name TEXT NOT NULL,
  parent TEXT NOT NULL,            -- the department above, of a user the default project; '': none
  record BLOB NOT NULL,            -- the whole of it, in the wire's encoding
  PRIMARY KEY (kind, name)
) WITHOUT ROWID;

-- One row: how often it was changed, and the number that its last department or project got.
CREATE TABLE org_revision (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  revision INTEGER NOT NULL,
  serial_last INTEGER NOT NULL
);
INSERT INTO org_revision VALUES (1, 0, 0);
