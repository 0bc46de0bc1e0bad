import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { type CliRun, stoke } from './fixtures/cli.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

const STORE_PAGE_BYTES = 8_192

/** Creates a skill with a history of two steps, and the state directory that records this history. */
class Kit implements Disposable {
  readonly folder: TemporaryFolder = new TemporaryFolder()
  readonly #flags = ['--root', this.folder.at('skills'), '--state', this.folder.at('state')]

  constructor() {
    for (const body of ['First.', 'Second.']) {
      this.folder.writeSkill('skills/pdf', { body })
      this.run('list')
    }
  }

  run<T = unknown>(...args: string[]): CliRun<T> {
    return stoke<T>([...args, ...this.#flags], { cwd: this.folder.path, env: { NO_COLOR: '1' } })
  }

  /** Overwrites a file of the state directory, or one page of a database file. */
  damage(name: string, page?: number): void {
    const path = this.folder.at(`state/${name}`)
    const size = name === 'store.sqlite' ? STORE_PAGE_BYTES : 4_096
    const [start, end] = page === undefined ? [0, undefined] : [page * size, (page + 1) * size]
    writeFileSync(path, readFileSync(path).fill(0x5a, start, end))
  }

  [Symbol.dispose](): void {
    this.folder[Symbol.dispose]()
  }
}

const warningsOf = ({ stderr }: CliRun<unknown>): readonly string[] =>
  stderr.split('\n').filter(line => line.startsWith('warning: ') || line.includes('STORE_FAILED'))

const MOVED =
  /^warning: the (contents of the store|steps of the history|decisions) in ".*" are damaged \(.*\) and were moved to ".*\.damaged-\d+"$/

test.each([
  ['list'],
  ['list', '--json'],
  ['show', 'pdf'],
  ['why', 'pdf'],
  ['status'],
  ['render'],
  ['pending', '--json'],
  ['log', 'pdf', '--json'],
  ['diff', 'pdf'],
  ['disable', 'pdf'],
  ['run', 'pdf'],
  ['show', 'nothing'],
])('stoke %j warns once about a damaged store', (...args) => {
  using kit = new Kit()
  kit.damage('store.sqlite')
  const run = kit.run(...args)
  expect(warningsOf(run)).toEqual([expect.stringMatching(MOVED)])
  if (args.includes('--json')) expect(() => run.json).not.toThrow()
  expect(warningsOf(kit.run(...args))).toEqual([])
})

test('stoke list warns about damage in most pages of the store, and only once', () => {
  using kit = new Kit()
  const pages = statSync(kit.folder.at('state/store.sqlite')).size / STORE_PAGE_BYTES
  let found = 0
  for (let page = 0; page < pages; page++) {
    kit.damage('store.sqlite', page)
    // SQLite reads some pages only when it writes.
    kit.folder.writeSkill('skills/pdf', { body: `Text ${page}.` })
    const warnings = warningsOf(kit.run('list'))
    for (const warning of warnings) expect([page, warning]).toEqual([page, expect.stringMatching(MOVED)])
    expect(warnings.length).toBeLessThan(2)
    found += warnings.length
  }
  // Some pages are read only by a collection.
  expect(found).toBeGreaterThan(pages / 2)
})

test('a failed command also prints the warning about a damaged store', () => {
  using kit = new Kit()
  kit.damage('store.sqlite')
  const run = kit.run('diff', 'pdf', '00000000')
  expect([run.status, warningsOf(run)]).toEqual([2, [expect.stringMatching(MOVED)]])
})

test.each([
  ['history.sqlite', 0],
  ['history.sqlite', 1],
  ['decisions.sqlite', 0],
])('stoke log warns once if %s is damaged in page %i', (name, page) => {
  using kit = new Kit()
  kit.damage(name, page)
  expect(warningsOf(kit.run('log', 'pdf'))).toEqual([expect.stringMatching(MOVED)])
  expect(readdirSync(kit.folder.at('state')).join()).toContain(`${name}.damaged-`)
  expect(warningsOf(kit.run('log', 'pdf'))).toEqual([])
})

test('stoke mcp reports a damaged history once', () => {
  using kit = new Kit()
  kit.damage('history.sqlite')
  const { stderr } = kit.run('mcp')
  expect(stderr.match(/the steps of the history in ".*" are damaged/g)).toHaveLength(1)
})

test.each([[[]], [['--json']]])(
  'rollback --dry-run %j to a revision that is no longer stored prints only the error',
  flags => {
    using kit = new Kit()
    const store = new DatabaseSync(kit.folder.at('state/store.sqlite'))
    store.exec("UPDATE content SET bytes = CAST('damaged' AS BLOB)")
    store.close()
    const { status, stdout, stderr } = kit.run('rollback', 'pdf', '--dry-run', ...flags)
    expect([status, stdout, stderr]).toEqual([2, '', expect.stringMatching(/^error: .*\n$/)])
  },
)
