import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { Digest } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'
import type { TrialRun } from './trial.ts'

/** How many tests a revision passed with a model. */
export interface Score {
  readonly skill: string
  readonly revision: Digest
  readonly model: string
  readonly passed: number
  readonly total: number
  /** When the tests ended, as an ISO date. */
  readonly at: string
}

/** Keeps what was measured, so that nothing is asked twice, and the score of each revision. */
export interface TrialStore extends Disposable {
  /** Why the store only keeps its contents in memory. */
  readonly fault?: string
  findRun(key: string): TrialRun | undefined
  keepRun(key: string, run: TrialRun): void
  keepScore(score: Score): void
  /** Returns the scores of a skill, the newest first. */
  listScores(skill: string): readonly Score[]
  close(): void
}

const KEPT_DAYS = 180
const SCHEMA = `
  PRAGMA busy_timeout = 5000;
  PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS run (key TEXT PRIMARY KEY, run TEXT NOT NULL, at TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS score (
    skill TEXT NOT NULL, revision TEXT NOT NULL, model TEXT NOT NULL,
    passed INTEGER NOT NULL, total INTEGER NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY (skill, revision, model)
  ) STRICT;`

/**
 * Opens the database of measured runs. Creates a missing file. If the file cannot be used, the store keeps everything in memory
 * and says why.
 *
 * @example
 * ```ts
 * import { openTrialStore } from '@skillstoke/author/trials'
 *
 * const store = await openTrialStore('./tests.sqlite')
 * console.log(store.listScores('support-pdf')) // prints []
 * store.close()
 * ```
 */
export async function openTrialStore(path: string): Promise<TrialStore> {
  const { DatabaseSync } = await import('node:sqlite')
  const open = (file: string): DatabaseSync => {
    const database = new DatabaseSync(file)
    database.exec(SCHEMA)
    database.prepare(`DELETE FROM run WHERE at < datetime('now', ?)`).run(`-${KEPT_DAYS} days`)
    return database
  }
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    // Messages and answers are private, and SQLite gives its further files the same mode.
    if (path !== ':memory:') closeSync(openSync(path, 'a', 0o600))
    return toStore(open(path))
  } catch (thrown) {
    return { ...toStore(open(':memory:')), fault: toMessage(thrown) }
  }
}

function toStore(database: DatabaseSync): TrialStore {
  const find = database.prepare('SELECT run FROM run WHERE key = ?')
  const keep = database.prepare(`INSERT OR REPLACE INTO run VALUES (?, ?, datetime('now'))`)
  const keepScore = database.prepare('INSERT OR REPLACE INTO score VALUES (?, ?, ?, ?, ?, ?)')
  const list = database.prepare('SELECT * FROM score WHERE skill = ? ORDER BY at DESC')
  return {
    findRun: key => {
      const row = find.get(key)
      return row === undefined ? undefined : (JSON.parse(String(row['run'])) as TrialRun)
    },
    keepRun: (key, run) => void keep.run(key, JSON.stringify(run)),
    keepScore: ({ skill, revision, model, passed, total, at }) =>
      void keepScore.run(skill, revision, model, passed, total, at),
    listScores: skill => list.all(skill) as unknown as readonly Score[],
    close: () => database.close(),
    [Symbol.dispose]: () => database.close(),
  }
}
