import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { BIN, type CliRun, stoke } from '../fixtures/cli.ts'
import { commandText, HAS_BUBBLEWRAP, HAS_PYTHON } from '../fixtures/scripts.ts'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'

interface Result {
  readonly revision?: string
  readonly target: string
  readonly ok: boolean
  readonly value?: unknown
  readonly exitCode?: number
  readonly stdout?: string
  readonly error?: { readonly code: string; readonly message: string }
}

function open(): { folder: TemporaryFolder; run: (...args: string[]) => CliRun<Result> } & Disposable {
  const folder = new TemporaryFolder()
  const shared = ['--root', folder.at('skills'), '--state', folder.at('state')]
  return {
    folder,
    run: (...args) => {
      const end = args.indexOf('--')
      return stoke<Result>(
        end < 0 ? [...args, ...shared] : [...args.slice(0, end), ...shared, ...args.slice(end)],
      )
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

test('stoke run prints the result of a command on standard output, and everything else on standard error', () => {
  using it = open()
  it.folder.writeSkill('skills/git')
  it.folder.write(
    'skills/git/scripts/a.js',
    commandText(
      'greet',
      'context.progress(1, 2, "half"); console.log("printed"); return "hello " + (input.name ?? "you")',
    ),
  )
  const plain = it.run('run', 'git.greet', '--input', '{"name": "Ada"}')
  expect(plain).toMatchObject({ status: 0, stdout: 'hello Ada\n' })
  expect(plain.stderr).toBe('50% half\nstdout: printed\n')
  expect(it.run('run', 'git.greet', '--json').json).toMatchObject({
    target: 'git.greet',
    ok: true,
    value: 'hello you',
  })
  const file = it.folder.write('input.json', '{"name": "file"}')
  expect(it.run('run', 'git.greet', '--input', `@${file}`).stdout).toBe('hello file\n')
  expect(
    stoke(
      [
        'run',
        'git.greet',
        '--input',
        '-',
        '--root',
        it.folder.at('skills'),
        '--state',
        it.folder.at('state'),
      ],
      {
        input: '{"name": "stdin"}',
      },
    ).stdout,
  ).toBe('hello stdin\n')
  expect(it.run('run', 'git').stdout).toContain('git.greet')
})

test.each([
  [['run', 'git.gret'], 2, 'error: there is no command "git.gret"; did you mean "git.greet"?\n'],
  [['run', 'nobody.x'], 2, 'error: there is no skill "nobody"; available: git\n'],
  [['run', 'nobody'], 2, 'error: there is no skill "nobody"; available: git\n'],
  [['run', 'git.greet', '--input', '{'], 2, 'error: --input is not valid JSON: '],
  [['run', 'git.greet', '--input', '@/nowhere'], 2, 'error: --input names a file that cannot be read: '],
  [['run', 'git.greet', '--timeout', '0'], 2, "error: option '--timeout <seconds>' argument '0' is invalid."],
  [
    ['run', 'git', 'scripts/none.py'],
    2,
    'error: "git" has no file "scripts/none.py"; its scripts are scripts/a.js\n',
  ],
  [
    ['run', 'git', 'scripts/a.js'],
    2,
    'error: "scripts/a.js" is not a program of "git"; run git.fail, git.greet instead\n',
  ],
  [
    ['run', 'git', 'greet'],
    2,
    `error: a command takes its input as JSON; run: stoke run git.greet --input '{...}'\n`,
  ],
  [['run', 'gti.greet'], 2, 'error: there is no skill "gti"; did you mean "git"? available: git\n'],
  [['grant', 'gti'], 2, 'error: there is no skill "gti"; did you mean "git"? available: git\n'],
  [['run', 'git.fail'], 1, 'error: git.fail: it went wrong (scripts/a.js:9:'],
  [['grant', 'git', 'network'], 2, 'error: "network" is not a capability; the capabilities are net, exec, '],
  [
    ['grant', 'git'],
    2,
    'error: "git" asks for nothing in metadata.capabilities; name a capability to grant, for example exec\n',
  ],
  [['revoke', 'git'], 2, 'error: nothing is granted to "git"\n'],
])('stoke %j exits with %i and prints the reason', (args, status, message) => {
  using it = open()
  it.folder.writeSkill('skills/git')
  it.folder.write(
    'skills/git/scripts/a.js',
    `${commandText('greet', 'return 1')}export const fail = defineCommand({ name: 'fail', description: 'd', run() { throw new Error('it went wrong') } })`,
  )
  const run = it.run(...args)
  expect(run.status).toBe(status)
  // The command line prints commands that begin with either `stoke` or `npx skillstoke`, depending on the folder.
  const stderr = run.stderr.replace(/npx (?:--prefix \S+ )?skillstoke/, 'stoke')
  expect(stderr.slice(0, message.length)).toBe(message)
})

test.skipIf(!HAS_BUBBLEWRAP || !HAS_PYTHON)(
  'stoke run passes the arguments after -- to a script without commands, and prints the output of the script',
  () => {
    using it = open()
    it.folder.writeSkill('skills/pdf')
    it.folder.write(
      'skills/pdf/scripts/a.py',
      'import sys\nprint(sys.argv[1:])\nprint("problem", file=sys.stderr)\nsys.exit(int(sys.argv[1]))\n',
    )
    expect(it.run('run', 'pdf', 'scripts/a.py', '--', '0', '--flag')).toMatchObject({
      status: 0,
      stdout: "['0', '--flag']\n",
      stderr: 'problem\n',
    })
    const failed = it.run('run', 'pdf', 'scripts/a.py', '--json', '--', '7')
    expect(failed.status).toBe(1)
    expect(failed.json).toMatchObject({
      target: 'pdf/scripts/a.py',
      ok: false,
      exitCode: 7,
      stdout: "['7']\n",
    })
  },
)

test.each([
  ['throws', `throw new Error('boom')`],
  ['ends its process', 'process.exit(3)'],
  ['imports a missing module', `import './nope.js'`],
])('next to a module that %s, an existing command exits with 1 and an unknown command with 2', (_, head) => {
  using it = open()
  it.folder.writeSkill('skills/git')
  it.folder.write('skills/git/scripts/a.js', commandText('greet', 'return 1'))
  it.folder.write('skills/git/scripts/b.js', commandText('other', 'return 1', head))
  expect(it.run('run', 'git.greet')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('error: the command "git.greet" does not load; scripts/b.js'),
  })
  expect(it.run('run', 'git.nope')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining(
      'error: there is no command "git.nope"; there are: git.greet, git.other\n',
    ),
  })
  // The command might be in a module that cannot be parsed, so the answer names that module.
  it.folder.write('skills/git/scripts/b.js', `${commandText('other', 'return 1')} syntax error`)
  expect(it.run('run', 'git.nope')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining(
      'there is no command "git.nope" in the code that can be read; scripts/b.js',
    ),
  })
})

test('stoke grant and stoke revoke apply to later processes and are recorded in the history', () => {
  using it = open()
  it.folder.write(
    'skills/net/SKILL.md',
    '---\nname: net\ndescription: d\nmetadata:\n  capabilities: net env:TOKEN\n---\nx\n',
  )
  it.folder.write(
    'skills/net/scripts/a.js',
    commandText('go', 'return Object.keys(process.env).includes("TOKEN")'),
  )
  const refused = it.run('run', 'net.go')
  expect(refused).toMatchObject({ status: 2 })
  expect(refused.stderr).toContain('the scripts lack a grant for net env:TOKEN')
  // A flag that grants all declared capabilities would also grant capabilities that the user has not read.
  const unsaid = it.run('grant', 'net')
  expect([unsaid.status, unsaid.stderr]).toEqual([
    2,
    expect.stringMatching(
      /"net" asks for net env:TOKEN; name what you grant: .*stoke grant net net env:TOKEN --/,
    ),
  ])
  expect(it.run('grant', 'net', '--yes', '--json').json).toMatchObject({
    skill: 'net',
    granted: ['net', 'env:TOKEN'],
    missing: [],
  })
  expect(it.run('run', 'net.go').status).toBe(0)
  expect(it.run('grant', 'net', '--yes').stdout).toContain('granted already')
  const part = it.run('revoke', 'net', 'net', '--note', 'not needed')
  expect(part.stdout).toContain('it asks for more: net')
  expect(it.run('run', 'net.go').status).toBe(2)
  expect(it.run('log', 'net').stdout).toMatch(/revoke.*net: not needed/)
})

test('stoke run --watch runs the command again on each save until the user interrupts the watch', async () => {
  using it = open()
  it.folder.writeSkill('skills/git')
  const file = it.folder.write('skills/git/scripts/a.js', commandText('greet', 'return "one"'))
  const args = [
    'run',
    'git.greet',
    '--watch',
    '--root',
    it.folder.at('skills'),
    '--state',
    it.folder.at('state'),
  ]
  const child = spawn(process.execPath, [BIN, ...args], { stdio: ['ignore', 'pipe', 'ignore'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async (): Promise<string> => String((await lines.next()).value)
  expect(await next()).toBe('one')
  writeFileSync(file, commandText('greet', 'return "two"'))
  expect(await next()).toBe('two')
  // After an edit that breaks the code, the last good code still runs.
  writeFileSync(file, '{{ import "skillstoke/command"')
  expect(await next()).toBe('two')
  writeFileSync(file, commandText('greet', 'return "three"'))
  expect(await next()).toBe('three')
  child.kill('SIGINT')
  expect(await once(child, 'exit')).toEqual([0, null])
})

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  'the signal %s to stoke run ends the script, even if the script ignores this signal',
  async signal => {
    using it = open()
    it.folder.writeSkill('skills/git')
    const wait = 'context.log("begun " + process.pid); for (;;);'
    it.folder.write('skills/git/scripts/a.js', commandText('greet', wait))
    const shared = ['--root', it.folder.at('skills'), '--state', it.folder.at('state'), '--sandbox', 'off']
    const child = spawn(process.execPath, [BIN, 'run', 'git.greet', ...shared])
    const notes = createInterface({ input: child.stderr })[Symbol.asyncIterator]()
    let pid = 0
    while (pid === 0) pid = Number(/begun (\d+)/.exec(String((await notes.next()).value))?.[1] ?? 0)
    child.kill(signal)
    expect(await once(child, 'exit')).toEqual([130, null])
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  },
)

test('stoke run --watch also notices a save during a run', async () => {
  using it = open()
  it.folder.writeSkill('skills/git')
  const wait = 'context.log("begun"); await new Promise(resolve => setTimeout(resolve, 500)); return "one"'
  const file = it.folder.write('skills/git/scripts/a.js', commandText('greet', wait))
  const shared = ['--root', it.folder.at('skills'), '--state', it.folder.at('state')]
  const child = spawn(process.execPath, [BIN, 'run', 'git.greet', '--watch', ...shared])
  const [answers, notes] = [child.stdout, child.stderr].map(input =>
    createInterface({ input })[Symbol.asyncIterator](),
  )
  for (let note = ''; !note.includes('begun'); ) note = String((await notes?.next())?.value)
  writeFileSync(file, commandText('greet', 'return "two"'))
  expect(String((await answers?.next())?.value)).toBe('one')
  expect(String((await answers?.next())?.value)).toBe('two')
  child.kill('SIGINT')
  await once(child, 'exit')
})

test.skipIf(!HAS_BUBBLEWRAP)(
  'a script with a write capability cannot change its own grants or the skills',
  () => {
    using it = open()
    // The project contains the state directory and the skills.
    it.folder.writeSkill('skills/work')
    it.folder.write(
      'skills/work/scripts/attack.sh',
      'mv state old; mv skills old; for file in state/decisions.sqlite skills/work/SKILL.md out/new; do (echo x >> $file) 2> /dev/null && echo "wrote $file"; done\n',
    )
    it.folder.write('out/old', '')
    const words = ['run', 'work', 'scripts/attack.sh']
    const places = ['--root', it.folder.at('skills'), '--state', it.folder.at('state')]
    const run = (): CliRun<unknown> => stoke([...words, ...places], { cwd: it.folder.path })
    const reason = `fs.write of ${it.folder.path} is granted, but no script may write to ${it.folder.at('state')} in it; grant a folder beside it, as in fs.write:out`
    const granted = stoke(['grant', 'work', 'fs.write', ...places], { cwd: it.folder.path })
    expect(granted).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(
        `with these grants, no script of the skill starts from this folder: ${reason}`,
      ),
    })
    expect(stoke(['show', 'work', ...places], { cwd: it.folder.path }).stdout).toContain(reason)
    const refused = run()
    expect(refused).toMatchObject({ status: 2, stdout: '' })
    expect(refused.stderr).toContain(reason)
    it.run('revoke', 'work', 'fs.write')
    expect(
      stoke(['grant', 'work', 'fs.read', 'fs.write:out', ...places], { cwd: it.folder.path }).stdout,
    ).not.toContain('no script')
    expect(run().stdout).toBe('wrote out/new\n')
  },
)

test('stoke revoke reports that a capability was never granted', () => {
  using it = open()
  it.folder.writeSkill('skills/git')
  it.run('grant', 'git', 'exec')
  expect(it.run('revoke', 'git', 'net', 'exec').stdout).toMatch(
    /^revoked: exec for git\nnot granted: net for git\n/,
  )
  expect(it.run('revoke', 'git', 'net').stdout).toMatch(/^not granted: net for git\n/)
})

test('Ctrl-C during stoke run ends the command of the skill', async () => {
  using it = open()
  it.folder.writeSkill('skills/git')
  it.folder.write(
    'skills/git/scripts/a.js',
    commandText('wait', 'context.log("begun"); await new Promise(() => setInterval(() => {}, 1000))'),
  )
  const args = ['run', 'git.wait', '--root', it.folder.at('skills'), '--state', it.folder.at('state')]
  const child = spawn(process.execPath, [BIN, ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
  await once(child.stderr, 'data')
  child.kill('SIGINT')
  expect(await once(child, 'exit')).toEqual([130, null])
})

test('stoke run lists scripts, but no helpers or data files, even when the code of the skill is broken', () => {
  using it = open()
  it.folder.writeSkill('skills/git')
  it.folder.write(
    'skills/git/scripts/a.js',
    `import { help } from './lib/help.js'\n${commandText('greet', 'return help')}`,
  )
  it.folder.write('skills/git/scripts/lib/help.js', 'export const help = 1')
  for (const path of ['data.txt', 'table.csv', 'tool.py', 'bare'])
    it.folder.write(`skills/git/scripts/${path}`, '')
  const offered = (): unknown => (it.run('run', 'git', '--json').json as { scripts?: unknown }).scripts
  expect(offered()).toEqual(['scripts/bare', 'scripts/tool.py'])
  it.folder.write('skills/git/scripts/lib/help.js', 'export const help =')
  expect(offered()).toEqual(['scripts/bare', 'scripts/tool.py'])
})

test('if the newest code does not load, stoke why names the older revision whose commands still run', () => {
  using it = open()
  it.folder.writeSkill('skills/git')
  it.folder.write('skills/git/scripts/a.js', commandText('greet', 'return 1'))
  const { revision = '' } = it.run('run', 'git.greet', '--json').json
  it.folder.write('skills/git/scripts/a.js', 'export const = 1')
  expect(it.run('why', 'git').stdout).toMatch(
    new RegExp(`^no {3}commands {2}.*; the older code of ${revision.slice(7, 15)} answers: greet$`, 'm'),
  )
})

test('every verb that shows a skill explains why the skill has no commands', () => {
  using it = open()
  const head = 'name: git\ndescription: d\nmetadata:\n  capabilities: net, env:NO_SUCH_THING'
  it.folder.write('skills/git/SKILL.md', `---\n${head}\n---\nx\n`)
  it.folder.write('skills/git/scripts/a.js', commandText('greet', 'return 1'))
  expect(stoke(['validate', it.folder.at('skills')]).stdout).toContain(
    'metadata.capabilities asks for "net,", which is not a capability',
  )
  const refused = it.run('run', 'git.greet')
  expect(refused).toMatchObject({ status: 2, stdout: '' })
  expect(refused.stderr).toMatch(
    / a person can read the scripts first, then decide: .* grant git env:NO_SUCH_THING --root \S+skills --state \S+state\n/,
  )
  const why = it.run('why', 'git')
  expect(why.status).toBe(1)
  expect(why.stdout).toMatch(/^no {3}commands {2}the scripts lack a grant for env:NO_SUCH_THING/m)
  expect(why.stdout).toMatch(/^yes {2}listed/m)
  // Known capabilities can be granted even if the skill also declares an unknown capability.
  expect(it.run('grant', 'git', '--yes').stdout).toMatch(
    /^granted: env:NO_SUCH_THING for git\n[\s\S]*it asks for unknown capabilities: net,\n/,
  )
  expect(it.run('revoke', 'git').status).toBe(0)
  expect(it.run('grant', 'git', 'env:NO_SUCH_THING', 'fs.read:/no/such/place').stdout).toMatch(
    /env:NO_SUCH_THING: the variable is not set here\nfs.read:\/no\/such\/place: the path does not exist here\n/,
  )
  expect(it.run('why', 'git')).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^yes {2}commands {2}greet$/m),
  })
  it.folder.write(
    'skills/git/scripts/a.js',
    'import x from "left-pad"\n'.concat(commandText('greet', 'return 1')),
  )
  const broken = stoke(['validate', it.folder.at('skills')])
  expect(broken.status).toBe(1)
  expect(broken.stdout).toContain('scripts/a.js:1:15: "left-pad" cannot be imported')
})

test('when stoke run fails, its error names the revision of the code that ran', () => {
  using it = open()
  it.folder.writeSkill('skills/git')
  it.folder.write('skills/git/scripts/a.js', commandText('fail', 'throw new Error("no")'))
  it.folder.write('skills/git/scripts/b.mjs', 'process.exit(3)')
  const { skills } = it.run('list', '--json').json as unknown as { skills: { serving: string }[] }
  expect(it.run('run', 'git.fail', '--json')).toMatchObject({
    status: 1,
    json: { ok: false, revision: skills[0]?.serving, error: { code: 'SCRIPT_FAILED' } },
  })
  expect(it.run('run', 'git', 'scripts/b.mjs', '--json')).toMatchObject({
    status: 1,
    json: { ok: false, revision: skills[0]?.serving, exitCode: 3 },
  })
  expect(it.run('run', 'git.none', '--json').json).toMatchObject({ revision: null })
})

test('stoke run without a command name reports the load error of the skill and lists no helpers', () => {
  using it = open()
  it.folder.writeSkill('skills/git')
  it.folder.write(
    'skills/git/scripts/a.js',
    `${commandText('greet', 'return 1')}throw new RangeError('top')\n`,
  )
  for (const name of ['_lib.ts', 'a.test.ts', 'types.d.ts']) it.folder.write(`skills/git/scripts/${name}`, '')
  const list = it.run('run', 'git')
  expect(list.stderr).toMatch(/note .*scripts\/a\.js:\d+:\d+ top\n/)
  expect(list.stdout).toBe('git has nothing to run\n')
  expect(it.run('run', 'git.greet', '--', 'a').stderr).toContain('stoke run git.greet --input')
})

test('if only the capabilities in the frontmatter are faulty, stoke run does not claim that older code ran', () => {
  using it = open()
  it.folder.write(
    'skills/git/SKILL.md',
    '---\nname: git\ndescription: d\nmetadata:\n  capabilities: [nett]\n---\nx\n',
  )
  it.folder.write('skills/git/scripts/a.js', commandText('greet', 'return 1'))
  const run = it.run('run', 'git.greet')
  expect(run).toMatchObject({ status: 0, stdout: '1\n' })
  expect(run.stderr).toMatch(/^note: .*is not a capability/m)
  expect(run.stderr).not.toMatch(/ran:|not loaded:/)
})

test.skipIf(!HAS_BUBBLEWRAP)(
  'stoke run prints the result of a script although it left what no script may leave',
  () => {
    using it = open()
    using work = new TemporaryFolder()
    const grant = `fs.write:${work.path}`
    it.folder.write(
      'skills/make/SKILL.md',
      `---\nname: make\ndescription: d\nmetadata:\n  capabilities: ${grant}\n---\nx\n`,
    )
    const body = `fs.mkdirSync(${JSON.stringify(work.at('.git'))}); return 'kept'`
    it.folder.write('skills/make/scripts/go.js', commandText('go', body, "import fs from 'node:fs'"))
    expect(it.run('grant', 'make', grant).status).toBe(0)
    const plain = it.run('run', 'make.go')
    expect([plain.status, plain.stdout]).toEqual([2, 'kept\n'])
    expect(plain.stderr).toContain('.git; it was moved to')
    expect(it.run('run', 'make.go', '--json').json).toMatchObject({
      ok: false,
      value: 'kept',
      error: { code: 'SCRIPT_REFUSED' },
    })
  },
)
