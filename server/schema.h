// SPDX-License-Identifier: Apache-2.0
/* The database, step by step. Steps are never changed once they were published, only added. */
#pragma once

static const char *const schema_steps[] = {
    "CREATE TABLE keys ("
    "  id INTEGER PRIMARY KEY,"
    "  digest BLOB NOT NULL UNIQUE," /* SHA-256 */
    "  shown TEXT NOT NULL,"         /* its beginning, for lists */
    "  created_ms INTEGER NOT NULL);"
    "CREATE TABLE sandboxes ("
    "  id TEXT PRIMARY KEY,"
    "  key INTEGER NOT NULL REFERENCES keys(id),"
    "  ending INTEGER NOT NULL DEFAULT 0,"
    "  token TEXT NOT NULL," /* signs URLs, so that a digest would not do */
    "  started_ms INTEGER NOT NULL,"
    "  deadline_ms INTEGER NOT NULL,"
    "  template TEXT NOT NULL,"
    "  metadata TEXT NOT NULL,"
    "  env TEXT NOT NULL,"
    "  network TEXT,"
    "  internet INTEGER);"
    "CREATE TABLE audit ("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  at_ms INTEGER NOT NULL,"
    "  key INTEGER,"
    "  sandbox TEXT,"
    "  what TEXT NOT NULL);",

    /* Keys with names and scopes; those that were there are owners' keys. */
    "ALTER TABLE keys ADD COLUMN name TEXT NOT NULL DEFAULT 'owner';"
    "ALTER TABLE keys ADD COLUMN parent INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE keys ADD COLUMN scope TEXT NOT NULL DEFAULT "
    "'{\"egress\":\"any\",\"manageKeys\":true}';"
    "ALTER TABLE sandboxes ADD COLUMN memory_mb INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE sandboxes ADD COLUMN cpus_thousandths INTEGER NOT NULL DEFAULT 0;"
    "CREATE INDEX audit_by_sandbox ON audit (sandbox);",

    /* sandboxes.ending: 0, or an enum box_cause of boxes.h. */
    "CREATE TABLE events ("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  uuid TEXT NOT NULL,"
    "  at_ms INTEGER NOT NULL,"
    "  key INTEGER NOT NULL,"
    "  sandbox TEXT NOT NULL,"
    "  type INTEGER NOT NULL," /* enum event_type of events.h */
    "  template TEXT NOT NULL,"
    "  data TEXT NOT NULL);" /* JSON */
    "CREATE INDEX events_by_sandbox ON events (sandbox, id);",

    /* Of those that were there nobody knows this token: their ports stay closed. */
    "ALTER TABLE sandboxes ADD COLUMN traffic_token TEXT NOT NULL DEFAULT '';"
    "UPDATE sandboxes SET traffic_token = lower(hex(randomblob(16)));",

    /* Contexts of the code interpreter, in the order of their making. */
    "CREATE TABLE contexts ("
    "  number INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  id TEXT NOT NULL UNIQUE,"
    "  sandbox TEXT NOT NULL REFERENCES sandboxes(id) ON DELETE CASCADE,"
    "  language TEXT NOT NULL,"
    "  workdir TEXT,"
    "  is_default INTEGER NOT NULL,"
    "  is_started INTEGER NOT NULL DEFAULT 0);" /* its program was, at least once */
    "CREATE INDEX contexts_by_sandbox ON contexts (sandbox);",

    "CREATE TABLE webhooks ("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  uuid TEXT NOT NULL UNIQUE,"
    "  key INTEGER NOT NULL,"
    "  name TEXT NOT NULL,"
    "  url TEXT NOT NULL,"
    "  secret TEXT NOT NULL," /* signs, so that a digest would not do */
    "  enabled INTEGER NOT NULL,"
    "  types INTEGER NOT NULL,"
    "  after INTEGER NOT NULL,"
    "  created_ms INTEGER NOT NULL,"
    "  last_ms INTEGER NOT NULL,"
    "  last TEXT NOT NULL);"
    "CREATE TABLE deliveries ("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  webhook INTEGER NOT NULL,"
    "  event INTEGER NOT NULL,"
    "  attempts INTEGER NOT NULL,"
    "  due_ms INTEGER NOT NULL,"
    "  UNIQUE (webhook, event));"
    "CREATE INDEX deliveries_by_time ON deliveries (webhook, due_ms);",

    /* What a key has done is known by its number: nobody gets that of one that is revoked. */
    "CREATE TABLE key_numbers (last INTEGER NOT NULL);"
    "INSERT INTO key_numbers SELECT max("
    "  ifnull((SELECT max(id) FROM keys), 0), ifnull((SELECT max(key) FROM audit), 0),"
    "  ifnull((SELECT max(key) FROM events), 0), ifnull((SELECT max(key) FROM webhooks), 0));"
    "CREATE TRIGGER keys_have_numbers AFTER INSERT ON keys BEGIN"
    "  UPDATE key_numbers SET last = NEW.id; END;",

    /* Events have tenants (keys_tenant() of keys.h); how many each has. */
    "ALTER TABLE events ADD COLUMN tenant INTEGER NOT NULL DEFAULT 0;"
    "UPDATE events SET tenant = ifnull(("
    "  WITH RECURSIVE up (id, parent) AS ("
    "    SELECT id, parent FROM keys WHERE id = events.key"
    "    UNION ALL SELECT keys.id, keys.parent FROM keys JOIN up ON keys.id = up.parent)"
    "  SELECT id FROM up WHERE parent IN (SELECT id FROM keys WHERE parent = 0)), key);"
    "CREATE INDEX events_by_tenant ON events (tenant, id);"
    "CREATE TABLE event_counts (tenant INTEGER PRIMARY KEY, count INTEGER NOT NULL);"
    "INSERT INTO event_counts SELECT tenant, count(*) FROM events GROUP BY tenant;"
    "CREATE TRIGGER events_are_more AFTER INSERT ON events BEGIN"
    "  INSERT INTO event_counts VALUES (NEW.tenant, 1)"
    "  ON CONFLICT (tenant) DO UPDATE SET count = count + 1; END;"
    "CREATE TRIGGER events_are_fewer AFTER DELETE ON events BEGIN"
    "  UPDATE event_counts SET count = count - 1 WHERE tenant = OLD.tenant; END;"
    "CREATE TRIGGER events_are_inherited AFTER UPDATE OF tenant ON events BEGIN"
    "  UPDATE event_counts SET count = count - 1 WHERE tenant = OLD.tenant;"
    "  INSERT INTO event_counts VALUES (NEW.tenant, 1)"
    "  ON CONFLICT (tenant) DO UPDATE SET count = count + 1; END;",

    /* The audit log likewise. What was done with keys that are no more is counted by key. */
    "ALTER TABLE audit ADD COLUMN tenant INTEGER NOT NULL DEFAULT 0;"
    "UPDATE audit SET tenant = ifnull(("
    "  WITH RECURSIVE up (id, parent) AS ("
    "    SELECT id, parent FROM keys WHERE id = audit.key"
    "    UNION ALL SELECT keys.id, keys.parent FROM keys JOIN up ON keys.id = up.parent)"
    "  SELECT id FROM up WHERE parent IN (SELECT id FROM keys WHERE parent = 0)), ifnull(key, 0));"
    "CREATE INDEX audit_by_tenant ON audit (tenant, id);"
    "CREATE TABLE audit_counts (tenant INTEGER PRIMARY KEY, count INTEGER NOT NULL);"
    "INSERT INTO audit_counts SELECT tenant, count(*) FROM audit GROUP BY tenant;"
    "CREATE TRIGGER audit_is_more AFTER INSERT ON audit BEGIN"
    "  INSERT INTO audit_counts VALUES (NEW.tenant, 1)"
    "  ON CONFLICT (tenant) DO UPDATE SET count = count + 1; END;"
    "CREATE TRIGGER audit_is_less AFTER DELETE ON audit BEGIN"
    "  UPDATE audit_counts SET count = count - 1 WHERE tenant = OLD.tenant;"
    "  DELETE FROM audit_counts WHERE tenant = OLD.tenant AND count = 0; END;",
};
