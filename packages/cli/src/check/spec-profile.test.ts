import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Diagnostic } from '@skillstoke/core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { validate } from '../commands/check.ts'
import type { Config } from '../config/config.ts'

interface Verdict {
  readonly path: string
  readonly valid: boolean
  readonly diagnostics: readonly Diagnostic[]
}

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'skillstoke-validate-'))
})

afterEach(() => {
  rmSync(root, { recursive: true })
})

function write(path: string, content: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), content)
}

const text = (name: string): string => `---\nname: ${name}\ndescription: Reads PDF files.\n---\nText.\n`

async function check(): Promise<{
  readonly exit: number | undefined
  readonly verdicts: readonly Verdict[]
}> {
  const { exit, json } = await validate({ roots: [], checks: {} } as unknown as Config, {}, [root])
  return { exit, verdicts: json as readonly Verdict[] }
}

/** Returns the exit code, and the folder, verdict and codes of each skill. */
async function run(): Promise<readonly [exitCode: number | undefined, verdicts: readonly unknown[]]> {
  const { exit, verdicts } = await check()
  return [
    exit,
    verdicts.map(({ path, valid, diagnostics }) => [
      path.slice(root.length + 1),
      valid,
      diagnostics.map(({ code }) => code),
    ]),
  ]
}

test.each<readonly [code: string, fill: () => void]>([
  ['TOO_MANY_FILES', () => Array.from({ length: 512 }, (_, index) => write(`pdf/files/${index}`, 'x'))],
  ['FOLDER_TOO_DEEP', () => write('pdf/1/2/3/4/5/6/7/8/file', 'x')],
  [
    'FOLDER_TOO_LARGE',
    () => {
      write('pdf/large.bin', '')
      truncateSync(join(root, 'pdf/large.bin'), 17 * 1024 * 1024)
    },
  ],
  ['IGNORE_FILE_INVALID', () => write('pdf/.skillignore', 'x\n'.repeat(20_000))],
  [
    'PATH_COLLISION',
    () => {
      write('pdf/caf\u00e9.md', 'composed')
      write('pdf/cafe\u0301.md', 'decomposed')
    },
  ],
  [
    'SKILL_FILE_UNREADABLE',
    () => {
      rmSync(join(root, 'pdf/SKILL.md'))
      symlinkSync('missing.md', join(root, 'pdf/SKILL.md'))
    },
  ],
  ['SKILL_FILE_TOO_LARGE', () => write('pdf/SKILL.md', text('pdf') + 'x'.repeat(300_000))],
  ['DESCRIPTION_MISSING', () => write('pdf/SKILL.md', '---\nname: pdf\n---\nText.\n')],
])('a skill that is not served because of %s is invalid, with one finding', async (code, fill) => {
  write('pdf/SKILL.md', text('pdf'))
  fill()
  expect(await run()).toEqual([1, [['pdf', false, [code]]]])
})

test('validate reports an unsafe name only once', async () => {
  write('x/SKILL.md', text('"../x"'))
  const [exitCode, verdicts] = await run()
  expect(exitCode).toBe(1)
  expect(verdicts).toEqual([['x', false, expect.not.arrayContaining(['NAME_UNSAFE'])]])
})

test('validate() reports the files of a folder that list() warns about, and the skill stays valid', async () => {
  write('pdf/SKILL.md', text('pdf'))
  mkdirSync(join(root, 'pdf/1/2/3/4/5/6/7/8'), { recursive: true })
  symlinkSync('/etc/hostname', join(root, 'pdf/outside'))
  write('pdf/.env', 'KEY=1')
  write('pdf/.git/config', '')
  write('pdf/node_modules/x/index.js', '')
  write('pdf/.venv/pyvenv.cfg', '')
  write('pdf/notes.md', '<<<<<<< a\none\n=======\ntwo\n>>>>>>> b\n')
  const [exitCode, [verdict, ...others]] = await run()
  const [path, isValid, codes] = verdict as [string, boolean, string[]]
  expect([exitCode, others, path, isValid]).toEqual([0, [], 'pdf', true])
  expect(codes.toSorted()).toEqual([
    'CONFLICT_MARKERS',
    'DEPENDENCY_FOLDER',
    'DEPENDENCY_FOLDER',
    'FILE_SKIPPED',
    'LINK_REFUSED',
    'SECRET_FILE',
  ])
})

test('validate() names --link-root for links out of the folder, to a file and to a folder', async () => {
  write('pdf/SKILL.md', text('pdf'))
  symlinkSync('/etc/hostname', join(root, 'pdf/file'))
  symlinkSync('/etc', join(root, 'pdf/folder'))
  const [verdict] = (await check()).verdicts
  expect(verdict?.diagnostics).toHaveLength(2)
  for (const { fix } of verdict?.diagnostics ?? []) expect(fix).toContain('with linkRoots or --link-root')
})
