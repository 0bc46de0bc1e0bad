import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { digestOf, revisionOf } from '@skillstoke/core/internal'
import { nodeHasher } from '@skillstoke/core/node'
import { expect, test } from 'vitest'
import { inspect } from './installed.ts'

test('a lost executable bit counts as a change, except on Windows, where files have no such bit', async () => {
  const project = mkdtempSync(join(tmpdir(), 'installed-'))
  try {
    mkdirSync(join(project, 'pdf'))
    const path = join(project, 'pdf', 'run.sh')
    writeFileSync(path, 'echo\n', { mode: 0o644 })
    const digest = digestOf('echo\n', nodeHasher)
    const revision = revisionOf([{ path: 'run.sh', digest, size: 5, isExecutable: true }], nodeHasher)
    const locked = { path: 'pdf', files: { 'run.sh': digest }, revision }
    expect(await inspect(project, locked, 'linux')).toMatchObject({ kind: 'modified', changed: [] })
    expect(await inspect(project, locked, 'win32')).toMatchObject({ kind: 'unmodified', changed: [] })
    writeFileSync(path, 'exit\n')
    expect(await inspect(project, locked, 'win32')).toMatchObject({ kind: 'modified', changed: ['run.sh'] })
  } finally {
    rmSync(project, { recursive: true })
  }
})
