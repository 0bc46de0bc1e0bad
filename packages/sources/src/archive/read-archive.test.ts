import { describe, expect, test } from 'vitest'
import { type PackedEntry, tar, tarGz, zip } from '../../../../tests/fixtures/archives.ts'
import { readArchive } from './read-archive.ts'

const LIMITS = { maxEntries: 50, maxTotalBytes: 100_000 }

describe.each([
  ['zip', zip],
  ['tar.gz', tarGz],
  ['tar', tar],
] as const)('%s', (_, pack) => {
  const read = async (...entries: PackedEntry[]) => await readArchive(pack(entries), LIMITS)
  const skill = { path: 'pdf/SKILL.md', content: 'Text.' }

  test('returns files with their bytes and executable bits, and omits folders', async () => {
    const entries = await read(
      { path: 'pdf/', type: 'directory', mode: 0o755 },
      skill,
      { path: './pdf/scripts/run.sh', content: 'x', mode: 0o755 },
      { path: 'pdf/empty', content: '' },
    )
    expect(
      entries.map(({ path, kind, bytes, isExecutable }) => [
        path,
        kind,
        Buffer.from(bytes).toString(),
        isExecutable,
      ]),
    ).toEqual([
      ['pdf/SKILL.md', 'file', 'Text.', false],
      ['pdf/scripts/run.sh', 'file', 'x', true],
      ['pdf/empty', 'file', '', false],
    ])
  })

  test('T26: ignores set-user bits and keeps only the executable bit', async () => {
    const [entry] = await read({ ...skill, mode: 0o6755 })
    expect(entry).toEqual({ path: skill.path, kind: 'file', bytes: expect.anything(), isExecutable: true })
  })

  test.each([
    '../evil',
    'pdf/../../evil',
    '/etc/passwd',
    'pdf//x',
    'pdf/./x',
    'C:/x',
    'pdf\\..\\..\\evil',
    '..',
  ])('T26: refuses the whole archive because of an entry %j', async path => {
    // yauzl and tar reject some of these names with their own messages.
    await expect(read(skill, { path, content: 'evil' })).rejects.toMatchObject({
      code: expect.stringMatching(/INVALID_PATH|IO_FAILED/),
    })
  })

  test.each([
    ['pdf/skill.MD', 'PDF/SKILL.md'],
    ['a/caf\u00e9', 'a/cafe\u0301'],
    ['a/x', 'a/x'],
  ])('T26: refuses an archive with both %j and %j', async (first, second) => {
    await expect(read({ path: first }, { path: second })).rejects.toMatchObject({
      code: 'INVALID_PATH',
      message: expect.stringContaining('which clash'),
    })
  })

  test.each(['.git/config', 'pdf/.GIT/config', 'pdf/git~1/hooks/pre-commit', 'pdf/.g\u200cit/config'])(
    'refuses the whole archive because of the git data %j',
    async path => {
      await expect(read(skill, { path, content: 'x' })).rejects.toMatchObject({
        code: 'INVALID_PATH',
        message: expect.stringContaining('which is data of git'),
      })
    },
  )

  test('T26: returns links as entries without bytes', async () => {
    const entries = await read(skill, { path: 'pdf/passwd', type: 'symlink', target: '/etc/passwd' })
    expect(entries.map(({ path, kind, bytes }) => [path, kind, bytes.length])).toEqual([
      ['pdf/SKILL.md', 'file', 5],
      ['pdf/passwd', 'link', 0],
    ])
  })

  test('T26: does not treat FIFOs and devices as files', async () => {
    const entries = await read({ path: 'a', type: 'fifo' }, { path: 'b', type: 'device' })
    expect(entries.map(({ kind }) => kind)).toEqual(['other', 'other'])
  })

  test('T26: refuses too many entries, folders included', async () => {
    const many = Array.from(
      { length: 51 },
      (_, index) => ({ path: `d${index}/`, type: 'directory' }) as const,
    )
    await expect(read(...many)).rejects.toMatchObject({
      code: 'TOO_LARGE',
      message: expect.stringContaining('50 entries'),
    })
  })

  test('T26: refuses a small archive whose unpacked size is too large', async () => {
    await expect(read({ path: 'bomb', content: '0'.repeat(10_000_000) })).rejects.toMatchObject({
      code: 'TOO_LARGE',
    })
  })

  test('T26: refuses an archive whose files together exceed the limit', async () => {
    const many = Array.from({ length: 3 }, (_, index) => ({ path: `f${index}`, content: 'x'.repeat(40_000) }))
    await expect(read(...many)).rejects.toMatchObject({
      code: 'TOO_LARGE',
      message: expect.stringContaining('100000 bytes'),
    })
  })

  test('refuses a truncated archive as damaged', async () => {
    const whole = pack([skill, { path: 'b', content: 'x'.repeat(5_000) }])
    await expect(readArchive(whole.subarray(0, whole.length - 1600), LIMITS)).rejects.toMatchObject({
      code: 'IO_FAILED',
    })
  })
})

test('T26: readArchive() does not treat hard links in tar as files', async () => {
  const entries = await readArchive(tarGz([{ path: 'x', type: 'hardlink', target: '/etc/passwd' }]), LIMITS)
  expect(entries.map(({ kind, bytes }) => [kind, bytes.length])).toEqual([['other', 0]])
})

test('T26: readArchive() refuses a zip with a wrong size and an encrypted zip', async () => {
  const lying = zip([{ path: 'bomb', content: '0'.repeat(1_000_000), claimedSize: 10 }])
  await expect(readArchive(lying, LIMITS)).rejects.toMatchObject({ code: 'IO_FAILED' })
  const secret = zip([{ path: 'x', content: 'x', isEncrypted: true }])
  await expect(readArchive(secret, LIMITS)).rejects.toMatchObject({
    message: expect.stringContaining('encrypted'),
  })
})

test.each(['', 'no archive', 'PK', '\u001f\u008b'])('readArchive() refuses %j', async text => {
  await expect(readArchive(Buffer.from(text, 'latin1'), LIMITS)).rejects.toMatchObject({ code: 'IO_FAILED' })
})
