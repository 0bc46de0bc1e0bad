import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findProgram } from './sandbox.ts'

test('on Windows, findProgram() looks for a file whose name ends in .exe', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'find-program-'))
  try {
    const path = join(folder, 'python3.exe')
    writeFileSync(path, '', { mode: 0o755 })
    expect(await findProgram('python3', ['', folder], 'win32')).toBe(path)
    expect(await findProgram('python3', ['', folder], 'linux')).toBeUndefined()
  } finally {
    rmSync(folder, { recursive: true })
  }
})
