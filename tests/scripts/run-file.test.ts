import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import type { SkillRuntime } from '@skillstoke/core'
import { verifies } from '@skillstoke/requirements'
import { describe, expect, test } from 'vitest'
import { HAS_BUBBLEWRAP, HAS_PYTHON, openScripts, type ScriptSetup } from '../fixtures/scripts.ts'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'

const write = (folder: TemporaryFolder, path: string, text: string): void => {
  folder.writeSkill('skills/pdf')
  folder.write(`skills/pdf/${path}`, text)
}
const open = async (folder: TemporaryFolder, setup: ScriptSetup = {}): Promise<SkillRuntime> =>
  await openScripts(folder.at('skills'), { workspace: folder.at('work'), ...setup })

describe.skipIf(!HAS_BUBBLEWRAP)('in the sandbox', () => {
  test.skipIf(!HAS_PYTHON)(
    'a Python script runs with its arguments, and its output and exit code are returned',
    async () => {
      using folder = new TemporaryFolder()
      write(
        folder,
        'scripts/fill.py',
        'import os, sys\nprint("args", sys.argv[1:])\nprint("here", os.path.exists("SKILL.md"), os.path.exists(os.environ["SKILL_DIRECTORY"] + "/SKILL.md"))\nprint("problem", file=sys.stderr)\nopen(os.environ["TMPDIR"] + "/x", "w").write("scratch")\nsys.exit(3)\n',
      )
      await using skills = await open(folder)
      const lines: string[] = []
      const run = await skills.scripts.run('pdf', 'scripts/fill.py', ['a b', '$HOME; rm'], {
        onLine: ({ stream, text }) => void lines.push(`${stream} ${text}`),
      })
      expect(run).toEqual({
        exitCode: 3,
        stdout: "args ['a b', '$HOME; rm']\nhere True True\n",
        stderr: 'problem\n',
        isTruncated: false,
        revision: skills.current.get('pdf').revision,
      })
      expect(lines.sort()).toEqual([
        'stderr problem',
        "stdout args ['a b', '$HOME; rm']",
        'stdout here True True',
      ])
    },
  )

  test('a shell script sees no files, processes or network of the host', async () => {
    using folder = new TemporaryFolder()
    folder.write('secret', 'the-secret')
    write(
      folder,
      'scripts/look.sh',
      `#!/bin/bash\ncat ${folder.at('secret')} /root/.ssh/* /etc/shadow 2>/dev/null\nls /proc | grep -c '^[0-9]'\necho x > SKILL.md\necho "$SKILLSTOKE_TEST $(id -u | wc -l)"\n`,
    )
    await using skills = await open(folder, { env: { ...process.env, SKILLSTOKE_TEST: 'leaked' } })
    const { stdout, exitCode, stderr } = await skills.scripts.run('pdf', 'scripts/look.sh')
    expect(exitCode).toBe(0)
    expect(stdout).not.toMatch(/the-secret|leaked/)
    expect(Number(stdout.split('\n')[0])).toBeLessThan(10)
    expect(stderr).toMatch(/SKILL\.md: (Read-only file system|Permission denied)/)
  })

  test('a script with a grant for the workspace runs in the workspace and can leave files there', async () => {
    using folder = new TemporaryFolder()
    mkdirSync(folder.at('work'))
    write(folder, 'scripts/make.sh', 'pwd; echo made > result.txt\n')
    await using skills = await open(folder)
    await skills.review.grant('pdf', ['fs.write'])
    expect((await skills.scripts.run('pdf', 'scripts/make.sh')).stdout).toBe(`${folder.at('work')}\n`)
    expect(existsSync(folder.at('work/result.txt'))).toBe(true)
  })
})

describe('without a sandbox', () => {
  test(`a program that cannot be confined is refused, unless exec is granted ${verifies('PROMISE-8')}`, async () => {
    using folder = new TemporaryFolder()
    write(folder, 'scripts/hello.sh', 'echo "hello $1"\n')
    await using skills = await open(folder, { sandbox: 'off' })
    await expect(skills.scripts.run('pdf', 'scripts/hello.sh')).rejects.toMatchObject({
      code: 'SCRIPT_REFUSED',
      message:
        '"scripts/hello.sh" would run with your rights and without containment (the sandbox is switched off); grant "exec" to the skill if you trust it',
    })
    await skills.review.grant('pdf', ['exec'])
    expect((await skills.scripts.run('pdf', 'scripts/hello.sh', ['you'])).stdout).toBe('hello you\n')
  })

  test('if a sandbox is required but missing, no script runs', async () => {
    using folder = new TemporaryFolder()
    write(folder, 'scripts/hello.sh', 'echo hello\n')
    write(
      folder,
      'scripts/a.js',
      "import { defineCommand } from 'skillstoke/command'\nexport const a = defineCommand({ name: 'a', description: 'd', run: () => 1 })",
    )
    await using skills = await open(folder, { sandbox: 'require', env: { PATH: '/nowhere' } })
    await skills.review.grant('pdf', ['exec'])
    await expect(skills.scripts.run('pdf', 'scripts/hello.sh')).rejects.toMatchObject({
      code: 'SCRIPT_REFUSED',
      message: 'a sandbox is required but not available: bubblewrap (bwrap) is not installed',
    })
    await expect(skills.scripts.execute('pdf.a')).rejects.toMatchObject({
      message: expect.stringContaining('a sandbox is required but not available'),
    })
  })

  test('without a sandbox, the permission checks of Node confine a Node script', async () => {
    using folder = new TemporaryFolder()
    folder.write('secret', 'the-secret')
    write(
      folder,
      'scripts/read.mjs',
      `import { readFileSync } from 'node:fs'\nconsole.log(process.argv.slice(2).join())\ntry { console.log(readFileSync(${JSON.stringify(folder.at('secret'))}, 'utf8')) } catch (error) { console.log(error.code) }\n`,
    )
    await using skills = await open(folder, { sandbox: 'off' })
    expect(await skills.scripts.run('pdf', 'scripts/read.mjs', ['a', 'b'])).toMatchObject({
      stdout: 'a,b\nERR_ACCESS_DENIED\n',
      exitCode: 0,
    })
  })
})

test('a script ends when its deadline passes or its call is aborted', async () => {
  using folder = new TemporaryFolder()
  write(folder, 'scripts/wait.sh', 'echo begun\nsleep 1000 &\nsleep 1000\n')
  await using skills = await open(folder)
  await skills.review.grant('pdf', ['exec'])
  await expect(skills.scripts.run('pdf', 'scripts/wait.sh', [], { timeoutMs: 300 })).rejects.toMatchObject({
    code: 'TIMED_OUT',
    message: 'pdf/scripts/wait.sh: it took longer than 300 ms',
  })
  const controller = new AbortController()
  const onLine = (): void => controller.abort(new Error('enough'))
  await expect(
    skills.scripts.run('pdf', 'scripts/wait.sh', [], { signal: controller.signal, onLine }),
  ).rejects.toThrow('enough')
})

test('processes that a script leaves running do not delay its answer', async () => {
  using folder = new TemporaryFolder()
  write(folder, 'scripts/leave.sh', 'sleep 1000 &\necho done\n')
  await using skills = await open(folder)
  await skills.review.grant('pdf', ['exec'])
  expect(await skills.scripts.run('pdf', 'scripts/leave.sh', [], { timeoutMs: 20_000 })).toMatchObject({
    stdout: 'done\n',
    exitCode: 0,
  })
})

test('the error for a wrong path lists the scripts, and the error for an unknown file type says what is missing', async () => {
  using folder = new TemporaryFolder()
  write(folder, 'scripts/a.sh', 'echo a\n')
  write(folder, 'scripts/data.bin', 'nothing to run\n')
  await using skills = await open(folder)
  await skills.review.grant('pdf', ['exec'])
  await expect(skills.scripts.run('pdf', 'scripts/b.sh')).rejects.toMatchObject({
    code: 'FILE_NOT_FOUND',
    message: '"pdf" has no file "scripts/b.sh"; did you mean "scripts/a.sh"?',
  })
  await expect(skills.scripts.run('pdf', 'scripts/convert.sh')).rejects.toMatchObject({
    code: 'FILE_NOT_FOUND',
    message: '"pdf" has no file "scripts/convert.sh"; its scripts are scripts/a.sh, scripts/data.bin',
  })
  for (const path of ['../other/x.sh', '/bin/sh', 'scripts/../../x.sh'])
    await expect(skills.scripts.run('pdf', path)).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' })
  await expect(skills.scripts.run('pdf', 'scripts/data.bin')).rejects.toMatchObject({
    code: 'SCRIPT_REFUSED',
    message:
      '"scripts/data.bin" cannot be run: its name has no known ending, and its first line names no interpreter',
  })
  await expect(skills.scripts.run('nobody', 'x.sh')).rejects.toMatchObject({ code: 'SKILL_NOT_FOUND' })
})

test('the options of a first line reach the interpreter, and a missing interpreter is named', async () => {
  using folder = new TemporaryFolder()
  write(folder, 'scripts/strict.sh', '#!/bin/sh -e\nfalse\necho "went on"\n')
  write(
    folder,
    'scripts/split.sh',
    '#!/usr/bin/env -S MODE=strict sh -e\necho "$MODE"; false; echo "went on"\n',
  )
  write(folder, 'scripts/none.ts', '#!/usr/bin/env no-such-runtime\n')
  await using skills = await open(folder)
  await skills.review.grant('pdf', ['exec'])
  expect(await skills.scripts.run('pdf', 'scripts/strict.sh')).toMatchObject({ stdout: '', exitCode: 1 })
  expect(await skills.scripts.run('pdf', 'scripts/split.sh')).toMatchObject({
    stdout: 'strict\n',
    exitCode: 1,
  })
  await expect(skills.scripts.run('pdf', 'scripts/none.ts')).rejects.toMatchObject({
    code: 'SCRIPT_REFUSED',
    message: expect.stringMatching(/^no-such-runtime is needed to run "scripts\/none\.ts", but is not in \//),
  })
})

test('uv runs a script without the network, and only a script that needs no packages', async () => {
  using folder = new TemporaryFolder()
  // Prints what uv would get.
  folder.write('bin/uv', '#!/bin/sh\necho "uv $*, offline $UV_OFFLINE"\n')
  chmodSync(folder.at('bin/uv'), 0o755)
  const head = '#!/usr/bin/env -S uv run --script\n'
  write(folder, 'scripts/plain.py', `${head}print(1)\n`)
  write(folder, 'scripts/wants.py', `${head}# /// script\n# dependencies = ["requests"]\n# ///\n`)
  await using skills = await open(folder, {
    sandbox: 'off',
    env: { PATH: `${folder.at('bin')}:/usr/bin:/bin` },
  })
  await skills.review.grant('pdf', ['exec'])
  const { stdout } = await skills.scripts.run('pdf', 'scripts/plain.py', ['x'])
  expect(stdout).toMatch(/^uv run --offline --script \/.*\/scripts\/plain\.py x, offline 1\n$/)
  await expect(skills.scripts.run('pdf', 'scripts/wants.py')).rejects.toMatchObject({
    code: 'SCRIPT_REFUSED',
    message:
      '"scripts/wants.py" cannot be run: it asks uv for the packages "requests", but scripts get no packages; bundle what the script needs into its skill',
  })
})

test('a script is also found by ./, by its path on this machine, and as a command line with arguments', async () => {
  using folder = new TemporaryFolder()
  write(folder, 'scripts/a.sh', 'echo "got $*"\n')
  await using skills = await open(folder)
  await skills.review.grant('pdf', ['exec'])
  for (const path of ['./scripts/a.sh', folder.at('skills/pdf/scripts/a.sh'), 'bash a.sh'])
    expect((await skills.scripts.run('pdf', path, ['x'])).stdout).toBe('got x\n')
  expect((await skills.scripts.run('pdf', 'bash scripts/a.sh first', ['second'])).stdout).toBe(
    'got first second\n',
  )
})

test('each run uses the newest text of a script', async () => {
  using folder = new TemporaryFolder()
  write(folder, 'scripts/a.sh', 'echo one\n')
  await using skills = await open(folder)
  await skills.review.grant('pdf', ['exec'])
  expect((await skills.scripts.run('pdf', 'scripts/a.sh')).stdout).toBe('one\n')
  writeFileSync(folder.at('skills/pdf/scripts/a.sh'), 'echo two\n')
  expect((await skills.scripts.run('pdf', 'scripts/a.sh')).stdout).toBe('two\n')
})
