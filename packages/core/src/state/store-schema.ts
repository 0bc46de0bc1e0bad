import type { StateDatabase, StateFile } from './state-database.ts'

/** The database of a store. Times are in milliseconds since the epoch. */
export const STORE: StateFile = {
  name: 'store.sqlite',
  what: 'the contents of the store',
  schema: `
    PRAGMA busy_timeout = 5000;
    -- In pages of 4 KB, files of 2 to 4 KB would leave half of the space unused.
    PRAGMA page_size = 8192;
    PRAGMA auto_vacuum = INCREMENTAL;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA journal_size_limit = 1048576;
    -- Copies at most 512 KB from the write-ahead log at once, so that no transaction takes long.
    PRAGMA wal_autocheckpoint = 64;
    -- "at" is the time of the last use.
    CREATE TABLE IF NOT EXISTS blob (digest TEXT PRIMARY KEY, at INTEGER NOT NULL, content INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS content (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
    -- No collection removes a tree before the time "until".
    CREATE TABLE IF NOT EXISTS tree (revision TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS member (
      revision TEXT NOT NULL, place INTEGER NOT NULL, path TEXT NOT NULL, digest TEXT NOT NULL, size INTEGER NOT NULL,
      isExecutable INTEGER NOT NULL, PRIMARY KEY (revision, place)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS member_digest ON member (digest);
    CREATE TABLE IF NOT EXISTS ref (name TEXT PRIMARY KEY, revision TEXT NOT NULL) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS ref_revision ON ref (revision);
    CREATE TABLE IF NOT EXISTS note (
      source TEXT NOT NULL, location TEXT NOT NULL, revision TEXT NOT NULL, facts BLOB NOT NULL, text TEXT NOT NULL,
      sum INTEGER NOT NULL, PRIMARY KEY (source, location)
    );
    CREATE INDEX IF NOT EXISTS note_revision ON note (revision);
    -- One row: when the last collection began.
    CREATE TABLE IF NOT EXISTS collected (id INTEGER PRIMARY KEY, at INTEGER NOT NULL);
  `,
  salvaged: { ref: 'name', tree: 'revision', member: 'revision', blob: 'digest', content: 'id' },
  cleanUp: 'DELETE FROM blob WHERE content NOT IN (SELECT id FROM content)',
}

/**
 * Forgets damaged bytes and revisions, so that the next read of their folder stores them again. Also forgets all notes,
 * so that the next start reads every folder.
 */
export function forgetDamaged(state: StateDatabase, keys: readonly string[]): void {
  state.transaction(() => {
    for (const key of keys) {
      state.run('DELETE FROM content WHERE id = (SELECT content FROM blob WHERE digest = ?)', key)
      state.run('DELETE FROM blob WHERE digest = ?', key)
      state.run('DELETE FROM member WHERE revision = ?', key)
      state.run('DELETE FROM tree WHERE revision = ?', key)
    }
    state.run('DELETE FROM note')
  })
}
