import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SkillError, SkillRuntime } from '@skillstoke/core'
import { verifies } from '@skillstoke/requirements'
import { describe, expect, test } from 'vitest'
import {
  commandText,
  countScriptProcesses,
  HAS_BUBBLEWRAP,
  HAS_PYTHON,
  openScripts,
} from '../fixtures/scripts.ts'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'

async function open(
  folder: TemporaryFolder,
  grants: readonly string[],
  sandbox: 'require' | 'off',
  directory: string = folder.at('own'),
): Promise<SkillRuntime> {
  const declared = `metadata:\n  capabilities: ${grants.join(' ')}\n`
  folder.write('skills/make/SKILL.md', `---\nname: make\ndescription: d\n${declared}---\nx\n`)
  mkdirSync(folder.at('work/out'), { recursive: true })
  const skills = await openScripts(folder.at('skills'), {
    sandbox,
    workspace: folder.at('work'),
    directory,
  })
  await skills.review.grant('make', grants)
  return skills
}

/** Returns the paths that were moved aside, relative to the folder that the error names. */
function movedBy(error: SkillError): readonly string[] {
  const [, aside = ''] = /it was moved to (\S+)$/.exec(error.message) ?? []
  return readdirSync(aside).sort()
}

const failure = async (call: Promise<unknown>): Promise<SkillError> =>
  (await call.then(
    () => new Error('it succeeded'),
    (error: unknown) => error,
  )) as SkillError

const HAS_OTHER_DISK = existsSync('/dev/shm') && statSync('/dev/shm').dev !== statSync(tmpdir()).dev

const HEAD = 'import os, socket, sys\nos.chdir(sys.argv[1])\n'

describe.skipIf(!HAS_BUBBLEWRAP || !HAS_PYTHON)('a program in the sandbox', () => {
  test.each([
    [
      'a bare repository',
      "for name in ['HEAD', 'config']: open(name, 'w').close()\nfor name in ['objects', 'refs', 'hooks']: os.mkdir(name)",
      ['HEAD', 'config', 'hooks', 'objects', 'refs'],
    ],
    [
      'a bare repository in a folder',
      "os.makedirs('x.git/objects'); os.mkdir('x.git/refs'); open('x.git/HEAD', 'w').close()",
      ['HEAD', 'objects', 'refs'],
    ],
    [
      'a repository whose objects are elsewhere',
      "os.makedirs('c/objects'); os.mkdir('c/refs'); os.mkdir('w'); open('w/HEAD', 'w').close(); open('w/commondir', 'w').write('../c')",
      ['HEAD', 'commondir'],
    ],
    [
      '.git in the spellings of other disks',
      "for name in ['git~1', '.g\\u200cit', '.git. ']: os.mkdir(name)",
      ['.git. ', '.g\u200cit', 'git~1'],
    ],
    ['.git and CLAUDE.md', "os.mkdir('.git'); open('CLAUDE.md', 'w').close()", ['.git', 'CLAUDE.md']],
    ['a file with mode 6777', "open('tool', 'w').close(); os.chmod('tool', 0o6777)", ['tool']],
    [
      'a FIFO and a socket',
      "os.mkfifo('pipe'); socket.socket(socket.AF_UNIX).bind('socket')",
      ['pipe', 'socket'],
    ],
    [
      'a link that leads out of the folder',
      "os.symlink('/etc/passwd', 'absolute'); os.symlink('../../secret', 'up'); os.symlink('gone/../../..', 'gone')",
      ['absolute', 'gone', 'up'],
    ],
    ['a folder that the host may not list', "os.makedirs('closed/.git'); os.chmod('closed', 0)", ['.git']],
  ])(`leaves %s, which is moved aside and named ${verifies('PROMISE-8')}`, async (_, program, names) => {
    using folder = new TemporaryFolder()
    folder.write('secret', 'x')
    folder.write('skills/make/scripts/make.py', `${HEAD}${program}\n`)
    folder.write(
      'skills/make/scripts/fine.py',
      `${HEAD}open('fine', 'w').close(); os.symlink('fine', 'inside')\n`,
    )
    await using skills = await open(folder, ['fs.write:out'], 'require')
    const error = await failure(skills.scripts.run('make', 'scripts/make.py', [folder.at('work/out')]))
    expect(error).toMatchObject({ code: 'SCRIPT_REFUSED' })
    expect(
      movedBy(error)
        .map(name => name.replace(/^\d+-/, ''))
        .sort(),
    ).toEqual(names)
    for (const name of names) expect(error.message).toContain(name)
    const after = await skills.scripts.run('make', 'scripts/fine.py', [folder.at('work/out')])
    expect(after).toMatchObject({ exitCode: 0 })
    expect(existsSync(folder.at('work/out/inside'))).toBe(true)
  })

  test('loses what replaced an entry that was there before, although the disk uses an inode again', async () => {
    using folder = new TemporaryFolder()
    const swap = (name: string, program: string): string => `os.unlink('${name}'); ${program}`
    const program = [
      swap('latest', "os.symlink('/etc/passwd', 'latest')"),
      swap('tool', "open('tool', 'w').close(); os.chmod('tool', 0o4755)"),
      swap('pipe', "os.mkfifo('pipe')"),
      "open('kept', 'w').write('changed'); os.chmod('kept', 0o4755)",
    ].join('; ')
    folder.write('skills/make/scripts/make.py', `${HEAD}${program}\n`)
    await using skills = await open(folder, ['fs.write:out'], 'require')
    for (const name of ['tool', 'kept']) {
      folder.write(`work/out/${name}`, 'x')
      chmodSync(folder.at('work/out', name), 0o4755)
    }
    symlinkSync('tool', folder.at('work/out/latest'))
    spawnSync('mkfifo', [folder.at('work/out/pipe')])
    const error = await failure(skills.scripts.run('make', 'scripts/make.py', [folder.at('work/out')]))
    expect(
      movedBy(error)
        .map(name => name.replace(/^\d+-/, ''))
        .sort(),
    ).toEqual(['latest', 'pipe', 'tool'])
    // The file of a person stays, without the bit.
    expect(statSync(folder.at('work/out/kept')).mode & 0o6000).toBe(0)
  })

  test.skipIf(!HAS_OTHER_DISK)('loses what it left, even if it must be copied to another disk', async () => {
    using folder = new TemporaryFolder()
    const directory = mkdtempSync('/dev/shm/skillstoke-')
    try {
      const program =
        "os.makedirs('.git/hooks'); open('.git/hooks/x', 'w').write('hook'); os.mkfifo('.git/pipe')"
      folder.write('skills/make/scripts/make.py', `${HEAD}${program}\n`)
      await using skills = await open(folder, ['fs.write:out'], 'require', directory)
      const error = await failure(skills.scripts.run('make', 'scripts/make.py', [folder.at('work/out')]))
      expect(movedBy(error)).toEqual(['1-.git'])
      const [, aside = ''] = /it was moved to (\S+)$/.exec(error.message) ?? []
      expect(readFileSync(join(aside, '1-.git/hooks/x'), 'utf8')).toBe('hook')
      expect(readdirSync(folder.at('work/out'))).toEqual([])
    } finally {
      rmSync(directory, { recursive: true })
    }
  })

  test('keeps a file of a person whose set-user-ID bit it set, without the bit', async () => {
    using folder = new TemporaryFolder()
    folder.write('skills/make/scripts/make.py', `${HEAD}os.chmod('mine.txt', 0o6755); print('done')\n`)
    await using skills = await open(folder, ['fs.write:out'], 'require')
    const mine = folder.write('work/out/mine.txt', 'my only copy')
    const error = await failure(skills.scripts.run('make', 'scripts/make.py', [folder.at('work/out')]))
    expect(error).toMatchObject({
      code: 'SCRIPT_REFUSED',
      message: `the script set a set-user-ID or set-group-ID bit, which was cleared: ${mine}`,
      data: { result: { exitCode: 0, stdout: 'done\n' } },
    })
    expect(readFileSync(mine, 'utf8')).toBe('my only copy')
    expect(statSync(mine).mode & 0o7777).toBe(0o755)
  })

  test('may rename a folder in which a person keeps a link and a pipe', async () => {
    using folder = new TemporaryFolder()
    folder.write('skills/make/scripts/make.py', `${HEAD}os.rename('old', 'new')\n`)
    await using skills = await open(folder, ['fs.write:out'], 'require')
    mkdirSync(folder.at('work/out/old'))
    symlinkSync('/usr', folder.at('work/out/old/absolute'))
    symlinkSync('../../work', folder.at('work/out/old/relative'))
    spawnSync('mkfifo', [folder.at('work/out/old/pipe')])
    const run = await skills.scripts.run('make', 'scripts/make.py', [folder.at('work/out')])
    expect(run).toMatchObject({ exitCode: 0, stderr: '' })
    expect(readdirSync(folder.at('work/out/new')).sort()).toEqual(['absolute', 'pipe', 'relative'])
  })

  test('loses what it left, but a model still gets its output', async () => {
    using folder = new TemporaryFolder()
    folder.write('skills/make/scripts/make.py', `${HEAD}os.mkdir('.git'); print('42 pages')\n`)
    await using skills = await open(folder, ['fs.write:out'], 'require')
    const tool = skills.session({ id: 'chat-1' }).tools.find(({ name }) => name === 'run_skill_script')
    const answer = await tool?.execute({
      skill: 'make',
      path: 'scripts/make.py',
      args: [folder.at('work/out')],
    })
    expect(answer?.isError).toBe(true)
    expect(answer?.text).toMatch(/stream="stdout">\n42 pages\n<.*exit code 0\n.*\.git; it was moved to/s)
  })

  test('loses what it left although it ran until its deadline', async () => {
    using folder = new TemporaryFolder()
    folder.write('skills/make/scripts/make.py', `${HEAD}os.mkdir('.git')\nwhile True: pass\n`)
    await using skills = await open(folder, ['fs.write:out'], 'require')
    const call = skills.scripts.run('make', 'scripts/make.py', [folder.at('work/out')], { timeoutMs: 1_500 })
    const error = await failure(call)
    expect(error).toMatchObject({
      code: 'TIMED_OUT',
      message: expect.stringContaining('it took longer than'),
    })
    expect(movedBy(error)).toEqual(['1-.git'])
  })
})

describe.each([...(HAS_BUBBLEWRAP ? (['require'] as const) : []), 'off' as const])(
  'with sandbox %s',
  sandbox => {
    test('what was in a granted folder before a call stays, even if the call leaves more of its kind', async () => {
      using folder = new TemporaryFolder()
      const body = `const fs = await import('node:fs')
      for (const name of input.names) fs.writeFileSync(input.out + '/' + name, 'x', { mode: 0o755 })
      for (const name of input.names) if (name.endsWith('tool')) fs.chmodSync(input.out + '/' + name, 0o6755)
      return 'done'`
      folder.write('skills/make/scripts/go.js', commandText('go', body))
      await using skills = await open(folder, ['fs.write:out'], sandbox)
      const out = folder.at('work/out')
      spawnSync('mkfifo', [`${out}/pipe`])
      folder.write('work/out/old-tool', 'x')
      chmodSync(`${out}/old-tool`, 0o6755)
      for (const name of ['objects', 'refs']) mkdirSync(`${out}/${name}`)
      symlinkSync('old-tool', `${out}/link`)
      const call = async (...names: string[]): Promise<unknown> =>
        (await skills.scripts.execute('make.go', { out, names })).value
      expect(await call('fine')).toBe('done')
      const error = await failure(call('HEAD', 'new-tool'))
      expect(movedBy(error)).toEqual(['1-HEAD', '2-new-tool'])
      expect(readdirSync(out).sort()).toEqual(['fine', 'link', 'objects', 'old-tool', 'pipe', 'refs'])
      expect(statSync(`${out}/old-tool`).mode & 0o6000).toBe(0o6000)
      expect(lstatSync(`${out}/pipe`).isFIFO()).toBe(true)
      expect(await call('fine')).toBe('done')
    })

    test('a command that goes on after its result ends with its call, and leaves nothing', async () => {
      using folder = new TemporaryFolder()
      const body = `const fs = await import('node:fs')
      setInterval(() => fs.mkdirSync(input.out + '/.git', { recursive: true }), 1)
      return 'done'`
      folder.write('skills/make/scripts/go.js', commandText('go', body))
      await using skills = await open(folder, ['fs.write:out'], sandbox)
      const out = folder.at('work/out')
      for (const _ of ['first', 'second']) {
        const call = skills.scripts.execute('make.go', { out })
        const outcome: unknown = await call.catch(({ data }: SkillError) => data['result'])
        expect(outcome).toMatchObject({ value: 'done' })
        expect(countScriptProcesses()).toBe(0)
        expect(readdirSync(out)).toEqual([])
      }
    })

    test('what a person wrote between two calls stays, and the next call is refused', async () => {
      using folder = new TemporaryFolder()
      folder.write('skills/make/scripts/go.js', commandText('go', 'return 1'))
      await using skills = await open(folder, ['fs.write:out'], sandbox)
      expect((await skills.scripts.execute('make.go')).value).toBe(1)
      folder.write('work/out/.git/config', 'mine')
      await expect(skills.scripts.execute('make.go')).rejects.toMatchObject({
        code: 'SCRIPT_REFUSED',
        message: expect.stringContaining(`${folder.at('work/out/.git')} in it`),
      })
      expect(existsSync(folder.at('work/out/.git/config'))).toBe(true)
    })

    test('a repository without .git in a writable folder is protected like .git', async () => {
      using folder = new TemporaryFolder()
      folder.write('skills/make/scripts/go.js', commandText('go', 'return 1'))
      folder.write('work/out/x.git/HEAD', 'ref: refs/heads/main\n')
      for (const name of ['objects', 'refs']) mkdirSync(folder.at('work/out/x.git', name))
      await using skills = await open(folder, ['fs.write:out'], sandbox)
      await expect(skills.scripts.execute('make.go')).rejects.toMatchObject({
        message: expect.stringContaining(`no script may write to ${folder.at('work/out/x.git/HEAD')}`),
      })
    })

    describe('if one of two scripts at the same time leaves .git', () => {
      const wait = `import fs from 'node:fs'
import { setTimeout } from 'node:timers/promises'
export const waitFor = async out => {
  fs.writeFileSync(out + '/started', '')
  while (!fs.existsSync(out + '/end')) await setTimeout(5)
}`

      async function openPair(folder: TemporaryFolder, code: string): Promise<SkillRuntime> {
        folder.write('skills/make/lib/wait.mjs', wait)
        folder.write('skills/make/scripts/go.js', code)
        folder.write(
          'skills/make/scripts/leave.mjs',
          "import fs from 'node:fs'\nfs.mkdirSync(process.argv[2] + '/.git')\n",
        )
        folder.write(
          'skills/make/scripts/wait.mjs',
          "import { waitFor } from '../lib/wait.mjs'\nawait waitFor(process.argv[2])\n",
        )
        return await open(folder, ['fs.write:out'], sandbox)
      }

      test('both results name it', async () => {
        using folder = new TemporaryFolder()
        await using skills = await openPair(folder, commandText('go', 'return 1'))
        const out = folder.at('work/out')
        expect((await skills.scripts.execute('make.go')).value).toBe(1)
        const waiting = failure(skills.scripts.run('make', 'scripts/wait.mjs', [out]))
        await expect.poll(() => existsSync(`${out}/started`)).toBe(true)
        const leaving = await failure(skills.scripts.run('make', 'scripts/leave.mjs', [out]))
        folder.write('work/out/end', '')
        const named = `the script, or another one at the same time, left what no script may leave in a granted folder: ${out}/.git; it was moved to`
        for (const error of [leaving, await waiting])
          expect(error).toMatchObject({
            code: 'SCRIPT_REFUSED',
            message: expect.stringContaining(named),
            data: { result: { exitCode: 0 } },
          })
        expect(existsSync(`${out}/.git`)).toBe(false)
      })

      test('code that was loading meanwhile is loaded again', async () => {
        using folder = new TemporaryFolder()
        const out = folder.at('work/out')
        const top = `import { waitFor } from '../lib/wait.mjs'\nawait waitFor(${JSON.stringify(out)})`
        await using skills = await openPair(folder, commandText('go', 'return 1', top))
        const executed = skills.scripts.execute('make.go')
        await expect.poll(() => existsSync(`${out}/started`)).toBe(true)
        const leaving = await failure(skills.scripts.run('make', 'scripts/leave.mjs', [out]))
        expect(movedBy(leaving)).toEqual(['1-.git'])
        folder.write('work/out/end', '')
        expect((await executed).value).toBe(1)
      })
    })

    test('a module that leaves .git while it loads does not load, and .git is moved aside', async () => {
      using folder = new TemporaryFolder()
      const out = JSON.stringify(folder.at('work/out/.git'))
      const text = commandText('go', 'return 1', `import fs from 'node:fs'\nfs.mkdirSync(${out})`)
      folder.write('skills/make/scripts/go.js', text)
      await using skills = await open(folder, ['fs.write:out'], sandbox)
      await expect(skills.scripts.execute('make.go')).rejects.toThrow('it was moved to')
      expect(readdirSync(folder.at('work/out'))).toEqual([])
    })
  },
)
