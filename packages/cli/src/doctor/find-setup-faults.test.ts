import { describe, expect, test } from 'vitest'
import { findDrift, type SkillCopy } from './find-drift.ts'
import { findSetupFaults, type SetupFacts } from './find-setup-faults.ts'

type Source = SetupFacts['sources'][number]
type Row = SetupFacts['skills'][number]

const source: Source = {
  ...{ label: 'skills', origin: '/p/skills', path: 'skills', trust: 'auto', mode: 'events' },
  ...{ failures: 0, skills: 1, diagnostics: [], isRoot: true, isNamed: true },
}
const row = {
  ...{ name: 'pdf', description: '', source: 'skills', location: '/p/skills/pdf', target: 'skills/pdf' },
  ...{ revision: 'sha256:a', serving: 'sha256:a', status: 'ok', copies: [], diagnostics: [] },
  ...{ tokens: null, usage: null },
} as unknown as Row
const healthy: SetupFacts = {
  ...{ sources: [source], skills: [row], misnamed: [], copies: [], drift: [], git: '2.47.0', clients: [] },
  ...{ containment: { kind: 'sandbox', detail: 'bubblewrap' }, devs: [], isFrozen: false },
  port: { number: 4114, isTaken: false },
}

const copy = (root: string, revision: string): SkillCopy => ({
  ...{ name: 'pdf', root, path: `${root}/pdf`, revision: `sha256:${revision}` },
})

const judge = (facts: Partial<SetupFacts>): readonly string[] =>
  findSetupFaults({ ...healthy, ...facts }).map(
    ({ severity, message, fix }) => `${severity}: ${message} | ${fix}`,
  )

describe('findSetupFaults()', () => {
  test('finds nothing in a healthy setup', () => {
    expect(judge({})).toEqual([])
  })

  test.each<[string, Partial<SetupFacts>, RegExp]>([
    [
      'a named root that is missing',
      {
        sources: [{ ...source, diagnostics: [{ code: 'ROOT_MISSING', severity: 'warning', message: '' }] }],
      },
      /^error: the root skills does not exist \| mkdir -p skills$/,
    ],
    [
      'a root that is swept because of a limit',
      { sources: [{ ...source, mode: 'degraded', reason: 'ENOSPC: limit of watches reached' }] },
      /^warning: skills is watched by events in part.*ENOSPC.* \| sudo sysctl fs\.inotify/,
    ],
    [
      'a source that fails',
      { sources: [{ ...source, lastError: 'EACCES' }] },
      /^error: skills cannot be read: EACCES/,
    ],
    [
      'a skill that is hidden',
      { skills: [row, { ...row, status: 'shadowed', serving: null, location: '/p/.claude/skills/pdf' }] },
      /^warning: \/p\/\.claude\/skills\/pdf is hidden by \/p\/skills\/pdf \| stoke why skills\/pdf$/,
    ],
    [
      'copies that differ',
      { drift: findDrift([copy('/a', 'x'), copy('/b', 'x'), copy('/c', 'y')]) },
      /^warning: pdf has different files in \/a\/pdf, \/b\/pdf, \/c\/pdf \| diff -r \/a\/pdf \/c\/pdf$/,
    ],
    ['no skill at all', { skills: [] }, /^warning: there is no skill in skills \| stoke new my-skill$/],
    ['a missing git', { git: undefined as never }, /^info: git is not on the path/],
    [
      'a missing git that a source needs',
      { git: undefined as never, sources: [source, { ...source, isRoot: false, path: 'acme/skills' }] },
      /^error: git is not on the path/,
    ],
    [
      'a port that is taken',
      { port: { number: 4114, isTaken: true } },
      /^info: port 4114 is used .*dev --port 0$/,
    ],
    ['frozen roots', { isFrozen: true }, /^info: the roots are frozen/],
    [
      'a client whose entry is old',
      { clients: [{ id: 'cursor', title: 'Cursor', path: 'mcp.json', state: 'stale' }] },
      /^warning: Cursor starts a program that no longer exists, as mcp\.json says \| stoke mcp install cursor$/,
    ],
  ])('reports %s with a fix', (_what, facts, line) => {
    expect(judge(facts)).toEqual([expect.stringMatching(line)])
  })

  test('the port of a running dev is no finding', () => {
    const devs = [{ url: 'http://127.0.0.1:4114', pid: 1, roots: [] }]
    expect(judge({ port: { number: 4114, isTaken: true }, devs })).toEqual([])
  })

  test('reports a skill that is hidden and differs once, as a difference', () => {
    const hidden = { ...row, status: 'shadowed', serving: null } as Row
    const drift = findDrift([copy('/a', 'x'), copy('/b', 'y')])
    expect(judge({ skills: [row, hidden], drift })).toEqual([expect.stringMatching(/different files/)])
  })
})

test('findDrift() finds no skill whose copies have the same files', () => {
  expect(findDrift([copy('/a', 'x'), copy('/b', 'x')])).toEqual([])
})
