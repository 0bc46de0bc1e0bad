import type { SkillRow, SourcesStatus } from '@skillstoke/core/internal'
import { describe, expect, test } from 'vitest'
import {
  judgeClient,
  judgeCopies,
  judgeMachine,
  judgeSkills,
  judgeSource,
  type MachineFacts,
  type SetupFinding,
} from './examine-setup.ts'
import type { SkillCopy } from './list-copies.ts'

type Source = SourcesStatus['sources'][number]

const source: Source = {
  ...{ label: 'skills', origin: '/p/skills', path: 'skills', trust: 'auto', mode: 'events' },
  ...{ failures: 0, skills: 1, diagnostics: [] },
}
const row = {
  ...{ name: 'pdf', location: '/p/skills/pdf', target: 'skills/pdf', status: 'ok', diagnostics: [] },
  serving: 'sha256:a',
} as unknown as SkillRow
const healthy: MachineFacts = {
  ...{ containment: { kind: 'sandbox', detail: 'bubblewrap' }, git: '2.47.0', needsGit: false },
}
const copy = (root: string, revision: string): SkillCopy => ({
  ...{ name: 'pdf', root, path: `${root}/pdf`, revision: `sha256:${revision}` },
})
const machine = (facts: Partial<MachineFacts>): Iterable<SetupFinding> =>
  judgeMachine({ ...healthy, ...facts })
const client = (state: 'connected' | 'stale' | 'not-connected'): Iterable<SetupFinding> =>
  judgeClient({ id: 'cursor', title: 'Cursor', path: 'mcp.json', state })

describe('the judgement of a setup', () => {
  test.each<[string, Iterable<SetupFinding>]>([
    ['a source with events', judgeSource(source, true)],
    ['a default root that is missing', judgeSource({ ...source, isMissing: true }, false)],
    ['a served skill', judgeSkills([row], false)],
    ['copies with the same files', judgeCopies([copy('/a', 'x'), copy('/b', 'x')])],
    ['a machine with everything', machine({})],
    ['a client that is connected', client('connected')],
  ])('finds nothing wrong with %s', (_what, findings) => {
    expect([...findings]).toEqual([])
  })

  test.each<[string, Iterable<SetupFinding>, RegExp]>([
    [
      'a named root that is missing',
      judgeSource({ ...source, isMissing: true }, true),
      /^error: the root skills does not exist \| mkdir -p skills$/,
    ],
    [
      'a root that is swept because of a limit',
      judgeSource({ ...source, mode: 'degraded', reason: 'ENOSPC: limit of watches reached' }, true),
      /^warning: skills is watched by events in part: ENOSPC.* \| sudo sysctl fs\.inotify/,
    ],
    [
      'a source that fails',
      judgeSource({ ...source, lastError: 'EACCES' }, true),
      /^error: skills cannot be read: EACCES/,
    ],
    [
      'a store that cannot be written',
      judgeSource({ ...source, storeFault: 'ENOSPC' }, true),
      /^error: nothing is stored: ENOSPC \| stoke gc$/,
    ],
    [
      'a skill that is hidden',
      judgeSkills(
        [
          row,
          { ...row, status: 'shadowed', serving: null, location: '/p/.claude/skills/pdf', target: 'c/pdf' },
        ],
        false,
      ),
      /^info: \/p\/\.claude\/skills\/pdf is hidden by \/p\/skills\/pdf \| stoke why c\/pdf$/,
    ],
    [
      'a broken skill whose folder has the syntax of a shell in its name',
      judgeSkills([{ ...row, status: 'broken', target: 'repo/a; $(touch pwn)' }], false),
      /^error: pdf is broken: .* \| stoke why 'repo\/a; \$\(touch pwn\)'$/,
    ],
    [
      'skills that wait',
      judgeSkills([{ ...row, status: 'pending' }], false),
      /^warning: 1 waiting for approval \| stoke pending$/,
    ],
    ['no skill at all', judgeSkills([], false), /^warning: there is no skill .* \| stoke new my-skill$/],
    [
      'copies that differ',
      judgeCopies([copy('/a', 'x'), copy('/b', 'x'), copy('/c', 'y')]),
      /^warning: pdf has different files in \/a\/pdf, \/b\/pdf, \/c\/pdf \| diff -r \/a\/pdf \/c\/pdf$/,
    ],
    [
      'a missing sandbox',
      machine({ containment: { kind: 'none', detail: 'Bun' } }),
      /^info: scripts do not run here: Bun/,
    ],
    ['a missing git', machine({ git: undefined }), /^info: git is not on the path/],
    [
      'a missing git that is needed',
      machine({ git: undefined, needsGit: true }),
      /^error: git is not on the path/,
    ],
    ['frozen roots', judgeSkills([row], true), /^info: the roots are frozen/],
    [
      'a client whose entry is old',
      client('stale'),
      /^warning: Cursor starts a program that does not exist, as mcp\.json says \| stoke mcp install cursor$/,
    ],
    ['a client without an entry', client('not-connected'), /^info: Cursor is not connected/],
  ])('reports %s with a fix', (_what, findings, line) => {
    const lines = Array.from(findings, ([severity, message, fix]) => `${severity}: ${message} | ${fix}`)
    expect(lines).toEqual([expect.stringMatching(line)])
  })
})
