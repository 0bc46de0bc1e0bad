import { describe, expect, test } from 'vitest'
import { createScopeTest } from '../catalog/scope.ts'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { FileSource } from '../source/file-source.ts'
import { createSkillRuntime } from './create-skill-runtime.ts'

/** Options that a program without type checks may pass. */
type Loose = Record<string, unknown>

const source = (options: Loose = {}): FileSource =>
  new FileSource({ fileSystem: new MemoryFileSystem(), root: '/skills', label: 'skills', ...options })

const messageOf = async (call: () => unknown): Promise<string> => {
  try {
    await call()
    return 'nothing was refused'
  } catch (thrown) {
    expect(thrown).toMatchObject({ code: 'INVALID_OPTION' })
    return (thrown as Error).message
  }
}

describe('an invalid option is refused with its name, its value and a valid value', () => {
  test.each<[Loose, string]>([
    [{ sources: undefined }, 'sources is not a list; use for example [directory("./skills")]'],
    [{ sources: ['./more'] }, 'sources[0] is "./more", which is not a source; use directory("./more")'],
    [{ onDuplicate: 'newest' }, 'onDuplicate is "newest"; use one of "first-wins", "last-wins", "error"'],
    [{ onInvalid: 'ignore' }, 'onInvalid is "ignore"; use one of "keep-last-good", "drop", "throw"'],
    [{ catalog: { format: 'html' } }, 'catalog.format is "html"; use one of'],
    [{ catalog: { maxTokens: -1 } }, 'catalog.maxTokens is -1; use a number from 0 on'],
    [{ review: { agentWrites: 'wait' } }, 'review.agentWrites is "wait"; use one of "hold", "live"'],
    [{ tuning: { modifiedOn: ['text'] } }, 'tuning.modifiedOn is "text"; use one of "frontmatter"'],
    [{ tuning: { rehashMs: -1 } }, 'tuning.rehashMs is -1; use a number from 1 on'],
    [
      { tuning: { settle: { settleMs: Number.NaN } } },
      'tuning.settle.settleMs is NaN; use a number from 0 to',
    ],
    [{ preScan: 'x' }, 'preScan is string; use a function, or { hook }'],
    [{ preScan: { hook: () => undefined, onError: 'skip' } }, 'preScan.onError is "skip"; use one of'],
  ])('createSkillRuntime(%j)', async (options, message) => {
    expect(await messageOf(() => createSkillRuntime({ sources: [], ...options }))).toContain(message)
  })

  test('createSkillRuntime() without options', async () => {
    const create = createSkillRuntime as unknown as () => unknown
    expect(await messageOf(() => create())).toContain('sources is not a list')
  })

  test.each<[Loose, string]>([
    [{ trust: 'yes' }, 'trust is "yes"; use one of "auto", "review"'],
    [{ symlinks: 'all' }, 'symlinks is "all"; use one of'],
    [{ watching: true }, 'watching is true; use one of "auto", "polling", "off"'],
    [{ onMissing: 'fail' }, 'onMissing is "fail"; use one of'],
    [{ reading: { names: 'loose' } }, 'reading.names is "loose"; use one of'],
    [{ pollMs: 0 }, 'pollMs is 0; use a number from 1 to 2147483647'],
    [{ reconcileMs: Infinity }, 'reconcileMs is Infinity; use a number from 1 to 2147483647'],
    [{ settle: { settleMs: -1 } }, 'settle.settleMs is -1; use a number from 0 to 2147483647'],
    [{ root: '' }, 'root is empty'],
  ])('new FileSource(%j)', async (options, message) => {
    expect(await messageOf(() => source(options))).toContain(message)
  })

  test('a custom source with an invalid option', async () => {
    const own = Object.assign(source(), { settle: { burstMs: '1' } })
    expect(await messageOf(() => createSkillRuntime({ sources: [own as never] }))).toBe(
      'source "skills": settle.burstMs is "1"; use a number from 0 to 2147483647',
    )
  })

  test.each<[Loose, string]>([
    [{ delivery: 'push' }, 'delivery is "push"; use one of "append", "rebuild", "silent", "pinned"'],
    [{ applyAt: 'never' }, 'applyAt is "never"; use one of "step", "turn"'],
    [{ allowedTools: 'enforced' }, 'allowedTools is "enforced"; use one of "ignore", "advise", "enforce"'],
    [{ skillToolName: 'a b' }, 'skillToolName is "a b"; use a name of its own'],
    [{ skillToolName: 'read_skill_file' }, 'skillToolName is "read_skill_file"'],
    [{ skillToolName: 'write_skill_file' }, 'skillToolName is "write_skill_file"'],
    [{ skillToolName: 'skill_unload' }, 'skillToolName is "skill_unload"'],
    [{ scope: { inlcude: ['a'] } }, 'unknown option "scope.inlcude"; did you mean "scope.include"?'],
    [{ scope: { include: 'a' } }, 'the scope is {"include":"a"}; use { include:'],
    [{ scope: { outer: { include: 'a' } } }, 'the scope is {"include":"a"}; use { include:'],
    [{ scope: { outer: null } }, 'the scope is null; use { include:'],
    [{ scope: 'a' }, 'the scope is "a"; use { include:'],
  ])('session(%j)', async (options, message) => {
    await using skills = await createSkillRuntime({ sources: [] })
    expect(await messageOf(() => skills.session({ id: 's', ...options }))).toContain(message)
  })

  test('tools() refuses a skillToolName that another tool has', async () => {
    await using skills = await createSkillRuntime({ sources: [] })
    expect(await messageOf(() => skills.tools({ skillToolName: 'read_skill_file' }))).toContain(
      'skillToolName is "read_skill_file"; use a name of its own',
    )
  })

  test('bind() and writer() refuse invalid options', async () => {
    const fileSystem = new MemoryFileSystem()
    await using skills = await createSkillRuntime({ sources: [source({ fileSystem, writable: fileSystem })] })
    const agent = { addTool: () => undefined, removeTool: () => undefined }
    for (const wrong of [null, {}, { addTool: 1 }])
      expect(await messageOf(() => skills.bind(wrong as never))).toBe(
        'an agent needs the methods addTool() and removeTool()',
      )
    expect(await messageOf(() => skills.bind(agent, { tools: 'x' as never }))).toContain('tools is string')
    expect(await messageOf(() => skills.bind(agent, { unbind: 'later' as 'keep' }))).toContain(
      'unbind is "later"',
    )
    expect(await messageOf(() => skills.writer({ afterWrite: 'x' as 'none' }))).toContain('afterWrite is "x"')
    expect(await messageOf(() => skills.writer({ names: 'x' as 'strict' }))).toContain('names is "x"')
    expect(await messageOf(() => skills.writer().write({} as never))).toContain('write() needs the strings')
  })
})

describe('an unknown option is refused with its name and the nearest known one', () => {
  test.each<[Loose, string]>([
    [{ onDuplicates: 'error' }, 'unknown option "onDuplicates"; did you mean "onDuplicate"?'],
    [{ state: { stor: undefined } }, 'unknown option "state.stor"; did you mean "state.store"?'],
    [{ review: { isFrosen: true } }, 'unknown option "review.isFrosen"; did you mean "review.isFrozen"?'],
    [
      { tuning: { settle: { settelMs: 1 } } },
      'unknown option "tuning.settle.settelMs"; did you mean "tuning.settle.settleMs"?',
    ],
    [
      { tuning: { triggers: { access: true } } },
      'unknown option "tuning.triggers.access"; did you mean "tuning.triggers.onAccess"?',
    ],
    [{ catalog: { tokens: 1 } }, 'unknown option "catalog.tokens"; did you mean "catalog.maxTokens"?'],
    [{ preScan: { hook: () => undefined, timeout: 1 } }, 'did you mean "preScan.timeoutMs"?'],
    [{ state: './state' }, 'state is "./state"; use an object'],
    [{ review: [] }, 'review is a list; use an object'],
    [
      { banana: 1 },
      'unknown option "banana"; createSkillRuntime() has "sources", "state", "review", "scripts", "catalog", "events", "onDuplicate", "onInvalid", "preScan", "logger", "clock", "tuning"',
    ],
  ])('createSkillRuntime(%j)', async (options, message) => {
    expect(await messageOf(() => createSkillRuntime({ sources: [], ...options }))).toContain(message)
  })

  test.each([
    ['store', 'state.store'],
    ['decisions', 'state.decisions'],
    ['history', 'state.history'],
    ['writeLock', 'state.writeLock'],
    ['admission', 'review.admission'],
    ['frozen', 'review.isFrozen'],
    ['agentWrites', 'review.agentWrites'],
    ['settle', 'tuning.settle'],
    ['rehashMs', 'tuning.rehashMs'],
    ['triggers', 'tuning.triggers'],
    ['modifiedOn', 'tuning.modifiedOn'],
    ['hasher', 'tuning.hasher'],
  ])('the old option %s is refused with its new name %s', async (name, place) => {
    const options = { sources: [], [name]: undefined }
    expect(await messageOf(() => createSkillRuntime(options))).toBe(
      `unknown option "${name}"; it is "${place}" now`,
    )
  })
})

test('a scope with an empty include list includes every skill', () => {
  expect(createScopeTest({ include: [] })('anything')).toBe(true)
})
