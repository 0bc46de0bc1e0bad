import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync } from 'node:fs'
import { SkillError, type SkillRuntime } from '@skillstoke/core'
import { nodeHasher, openSkillStore } from '@skillstoke/core/node'
import type { ScriptRunner } from '@skillstoke/core/source'
import { verifies } from '@skillstoke/requirements'
import { childProcesses, scanScripts } from '@skillstoke/scripts'
import { describe, expect, test } from 'vitest'
import {
  commandText,
  countScriptProcesses,
  HAS_BUBBLEWRAP,
  openScripts,
  recordLog,
} from '../fixtures/scripts.ts'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'

const IMPORT = "import { defineCommand } from 'skillstoke/command'\n"

function write(folder: TemporaryFolder, body: string, path = 'git/scripts/go.js', capabilities = ''): void {
  const [name = ''] = path.split('/')
  const declared = capabilities === '' ? '' : `metadata:\n  capabilities: ${capabilities}\n`
  folder.write(`${name}/SKILL.md`, `---\nname: ${name}\ndescription: d\n${declared}---\nx\n`)
  folder.write(path, commandText('go', body))
}

const run = async (skills: SkillRuntime, input: unknown = {}, options = {}): Promise<unknown> =>
  (await skills.scripts.execute('git.go', input, options)).value
const codes = (skills: SkillRuntime): readonly string[] =>
  skills.current.reports().flatMap(({ diagnostics }) => diagnostics.map(({ code }) => code))

describe('a generated text', () => {
  const deep = (open: string, close: string, count: number): string =>
    open.repeat(count) + close.repeat(count)
  test.each([
    ['brackets', deep('[', ']', 40_000)],
    ['operators', `1${'+1'.repeat(100_000)}`],
    ['functions', `${'a=>'.repeat(40_000)}1`],
    ['blocks', `1;${deep('{', '}', 40_000)}`],
  ])(`with nested %s harms neither the host nor other skills ${verifies('PROMISE-8')}`, async (_, text) => {
    using folder = new TemporaryFolder()
    write(folder, 'return "good"')
    folder.writeSkill('evil')
    folder.write('evil/scripts/a.ts', `${IMPORT}const x = ${text}\n`)
    // The scan ignores this file, but the type annotations in this file are also removed.
    folder.write('evil/assets/b.ts', `const x: number = ${text}\n`)
    folder.write(
      'git/scripts/typed.ts',
      `${IMPORT}export const t = defineCommand({ name: 'typed', description: 'd', run: (): string => 'typed' })\n`,
    )
    await using skills = await openScripts(folder.path)
    await skills.scripts.run('evil', 'scripts/none.js').catch(() => undefined)
    expect(await run(skills)).toBe('good')
    expect((await skills.scripts.execute('git.typed')).value).toBe('typed')
    await expect(skills.scripts.execute('evil.x')).rejects.toMatchObject({ code: 'SCRIPT_FAILED' })
  })

  test('a text whose constants grow exponentially is not evaluated', async () => {
    const lines = Array.from({ length: 12 }, (_, i) => `const a${i + 1} = [${`a${i},`.repeat(16)}]`)
    const text = `${IMPORT}const a0 = 'x'\n${lines.join('\n')}\nexport const c = defineCommand({ name: 'c', description: 'd', input: { type: 'object', enum: a12 }, run() {} })`
    const { isComplete } = await scanScripts('git', [
      { path: 'scripts/a.js', text, digest: `sha256:${nodeHasher.sha256(text)}` },
    ])
    expect(isComplete).toBe(false)
  })

  test('a text that is too long for a script is refused', async () => {
    using folder = new TemporaryFolder()
    write(folder, `// ${'x'.repeat(300_000)}\n`)
    await using skills = await openScripts(folder.path)
    await expect(run(skills)).rejects.toThrow('characters; at most 262144 are read')
  })
})

test('files may have names with special characters of URLs', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('git')
  for (const [index, name] of ['100%.js', 'a#b.ts', 'a b?.js', 'größe.ts'].entries())
    folder.write(
      `git/scripts/${name}`,
      `${IMPORT}export const c = defineCommand({ name: 'c${index}', description: 'd', input: { type: 'object' }, run(input) { if (input.fail) throw new Error('no'); return ${index} } })`.replace(
        'run(input)',
        name.endsWith('ts') ? 'run(input: any)' : 'run(input)',
      ),
    )
  await using skills = await openScripts(folder.path)
  for (let index = 0; index < 4; index++)
    expect((await skills.scripts.execute(`git.c${index}`)).value).toBe(index)
  await expect(skills.scripts.execute('git.c1', { fail: true })).rejects.toThrow('(scripts/a#b.ts:2:')
})

test('an aborted call rejects with exactly the reason of the abort', async () => {
  using folder = new TemporaryFolder()
  write(folder, 'context.log("begun"); await new Promise(() => setInterval(() => {}, 1000))')
  await using skills = await openScripts(folder.path)
  const reason = new SkillError('CLOSED', 'nobody waits')
  const controller = new AbortController()
  const call = run(skills, {}, { signal: controller.signal, onLine: () => controller.abort(reason) })
  await expect(call).rejects.toBe(reason)
  await expect(run(skills, {}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
})

describe('revoking a grant', () => {
  test('a revoke also applies to capabilities that an approval granted, until the next approval', async () => {
    using folder = new TemporaryFolder()
    write(folder, 'return "ran"', undefined, 'exec')
    await using skills = await openScripts(folder.path, { source: { trust: 'review' } })
    await skills.review.approve('git')
    expect(await run(skills)).toBe('ran')
    expect((await skills.review.revoke('git', ['exec'])).isNew).toBe(true)
    await expect(run(skills)).rejects.toMatchObject({ code: 'SCRIPT_REFUSED' })
    await skills.review.grant('git', ['exec'])
    expect(await run(skills)).toBe('ran')
    await skills.review.revoke('git', ['exec'])
    write(folder, 'return "newer"', undefined, 'exec')
    await skills.reload()
    await skills.review.approve('git')
    expect(await run(skills)).toBe('newer')
  })

  test('a revoke ends running calls immediately', async () => {
    using folder = new TemporaryFolder()
    write(
      folder,
      'context.log("begun"); await new Promise(() => setInterval(() => {}, 1000))',
      undefined,
      'exec',
    )
    await using skills = await openScripts(folder.path)
    await skills.review.grant('git', ['exec'])
    const begun = Promise.withResolvers<void>()
    const call = run(skills, {}, { onLine: () => begun.resolve(), timeoutMs: 600_000 })
    const failed = expect(call).rejects.toMatchObject({ code: 'SCRIPT_FAILED' })
    await begun.promise
    await skills.review.revoke('git', ['exec'])
    await failed
  })

  test('a grant with a revision is refused after the skill has changed', async () => {
    using folder = new TemporaryFolder()
    write(folder, 'return 1', undefined, 'exec')
    await using skills = await openScripts(folder.path, { source: { trust: 'review' } })
    await skills.review.approve('git')
    const looked = skills.current.get('git').revision
    write(folder, 'return 2', undefined, 'exec')
    await skills.reload()
    await skills.review.approve('git')
    await expect(skills.review.grant('git', ['net'], { revision: looked })).rejects.toMatchObject({
      code: 'CHANGED_SINCE_READ',
    })
  })

  test('a rejected revision is not served, and its code does not run', async () => {
    using folder = new TemporaryFolder()
    write(folder, 'return "first"')
    await using skills = await openScripts(folder.path, { source: { trust: 'review' } })
    await skills.review.approve('git')
    expect(await run(skills)).toBe('first')
    await skills.review.reject('git')
    await expect(run(skills)).rejects.toMatchObject({ code: 'SKILL_NOT_FOUND' })
    expect(skills.scripts.list()).toEqual([])
  })
})

test('a granted secret is removed from messages of a loading module and from messages about an input', async () => {
  using folder = new TemporaryFolder()
  const secret = 'tok-5ecr3t-value'
  const head = `---\nname: git\ndescription: d\nmetadata:\n  capabilities: env:TOKEN\n---\nx\n`
  folder.write('git/SKILL.md', head)
  const seen: unknown[] = []
  const note = (...parts: unknown[]): void => void seen.push(parts)
  await using skills = await openScripts(folder.path, {
    env: { ...process.env, TOKEN: secret },
    runtime: { logger: { debug: note, info: note, warn: note, error: note } },
  })
  await skills.review.grant('git', ['env:TOKEN'])
  folder.write(
    'git/scripts/go.js',
    `${IMPORT}const make = definition => defineCommand(definition)
     export const go = make({ name: 'go', description: 'Of ' + process.env.TOKEN, run: () => 1,
       input: { type: 'object', properties: { [process.env.TOKEN]: { type: 'string' } }, required: [process.env.TOKEN], additionalProperties: false } })`,
  )
  await skills.reload()
  seen.push(skills.scripts.list())
  await run(skills).catch((error: unknown) =>
    seen.push((error as SkillError).message, (error as SkillError).data),
  )
  folder.write('git/scripts/go.js', `${IMPORT}throw new Error('failed with ' + process.env.TOKEN)`)
  await skills.reload()
  seen.push(skills.current.reports(), skills.scripts.status())
  expect(JSON.stringify(seen)).toContain('redacted TOKEN')
  expect(JSON.stringify(seen)).not.toContain(secret)
  folder.write(
    'git/scripts/print.mjs',
    `console.log('a ' + process.env.TOKEN.slice(0, 5) + '\\u001b[0m' + process.env.TOKEN.slice(5))`,
  )
  const printed = await skills.scripts.run('git', 'scripts/print.mjs', [], { onLine: note })
  seen.push(printed)
  expect(JSON.stringify(seen)).not.toContain(secret)
})

describe('waiting calls', () => {
  test('if the code is replaced while calls wait for a process, these calls run on the newer code', async () => {
    using folder = new TemporaryFolder()
    const text = (answer: string): string =>
      `context.log('begun'); await new Promise(resolve => setTimeout(resolve, 400)); return '${answer}'`
    write(folder, text('old'))
    await using skills = await openScripts(folder.path, { maxProcesses: 1 })
    const begun = Promise.withResolvers<void>()
    const calls = Array.from({ length: 4 }, () => run(skills, {}, { onLine: () => begun.resolve() }))
    await begun.promise
    write(folder, text('new'))
    await skills.reload()
    const answers = await Promise.all(calls)
    expect(answers.filter(answer => answer === 'old')).toHaveLength(1)
    expect(answers.filter(answer => answer === 'new')).toHaveLength(3)
  })

  test('all waiting calls fail when no further process can be started', async () => {
    using folder = new TemporaryFolder()
    using marks = new TemporaryFolder()
    const words = `fs.read:${marks.path}`
    write(folder, 'process.exit(1)', undefined, words)
    folder.write(
      'git/scripts/lib/check.js',
      `import { existsSync } from 'node:fs'\nif (existsSync(${JSON.stringify(marks.at('stop'))})) throw new Error('no more')\n`,
    )
    folder.write('git/scripts/go.js', commandText('go', 'process.exit(1)', "import './lib/check.js'"))
    await using skills = await openScripts(folder.path, { maxProcesses: 1 })
    await skills.review.grant('git', [words])
    await expect(run(skills)).rejects.toMatchObject({ code: 'SCRIPT_FAILED' })
    marks.write('stop', '')
    const calls = Array.from({ length: 5 }, () => run(skills, {}, { timeoutMs: 5_000 }))
    for (const outcome of await Promise.allSettled(calls)) expect(outcome.status).toBe('rejected')
  })

  test('waiting calls time out at their deadline, even if their code is not loaded yet', async () => {
    using folder = new TemporaryFolder()
    write(folder, 'await new Promise(resolve => setTimeout(resolve, 3_000))')
    await using skills = await openScripts(folder.path, { maxProcesses: 1 })
    const first = run(skills).catch(() => undefined)
    await expect(run(skills, {}, { timeoutMs: 300 })).rejects.toMatchObject({ code: 'TIMED_OUT' })
    await first
    folder.writeSkill('slow')
    folder.write('slow/scripts/go.js', `for (;;);\n${commandText('go', 'return 1')}`)
    await skills.reload()
    await expect(skills.scripts.execute('slow.go', {}, { timeoutMs: 300 })).rejects.toMatchObject({
      code: 'TIMED_OUT',
    })
    const reason = new Error('enough')
    await expect(skills.scripts.execute('slow.go', {}, { signal: AbortSignal.abort(reason) })).rejects.toBe(
      reason,
    )
  })

  test('waiting calls run on the older code when the newer code never finishes loading', async () => {
    using folder = new TemporaryFolder()
    write(folder, 'return "old"')
    await using skills = await openScripts(folder.path, { loadTimeoutMs: 20_000 })
    expect(await run(skills)).toBe('old')
    folder.write('git/scripts/go.js', `for (;;);\n${commandText('go', 'return "never"')}`)
    expect(await run(skills, {}, { timeoutMs: 10_000 })).toBe('old')
  })
})

test('close() also ends a process that reported forged commands', async () => {
  using folder = new TemporaryFolder()
  write(folder, 'return "good"')
  const skills = await openScripts(folder.path)
  expect(await run(skills)).toBe('good')
  const frame = `{"kind":"loaded","commands":[{"name":"go","description":"d","path":"scripts/go.js","inputSchema":{"type":"object","properties":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}}]}`
  folder.write(
    'git/scripts/go.js',
    `import { writeSync } from 'node:fs'\nfor (let text = ${JSON.stringify(`${frame}\\n`)}, at = 0; at < text.length; ) try { at += writeSync(3, text.slice(at)) } catch {}\n${commandText('go', 'return "bad"')}`,
  )
  await skills.reload()
  expect(await run(skills)).toBe('good')
  expect(codes(skills)).toEqual(['SCRIPT_FAILED'])
  await skills.close()
  expect(countScriptProcesses()).toBe(0)
})

test('close() ends every running call and process, including those of older revisions and of scripts without commands', async () => {
  using folder = new TemporaryFolder()
  using state = new TemporaryFolder()
  const text = (n: number): string =>
    `context.log('begun'); await new Promise(() => setInterval(() => {}, 1000)); return ${n}`
  write(folder, text(1))
  folder.write('git/scripts/wait.mjs', 'console.log("begun"); setInterval(() => {}, 1000)')
  const skills = await openScripts(folder.path, { directory: state.at('scripts') })
  const ends: Promise<string>[] = []
  const begin = (start: (onLine: () => void) => Promise<unknown>): Promise<void> =>
    new Promise(begun => {
      ends.push(
        start(begun).then(
          value => `answered ${JSON.stringify(value)}`,
          (error: unknown) => `${(error as SkillError).code}: ${(error as SkillError).message}`,
        ),
      )
    })
  await begin(onLine => run(skills, {}, { onLine }))
  await begin(onLine => skills.scripts.run('git', 'scripts/wait.mjs', [], { onLine }))
  write(folder, text(2))
  await begin(onLine => run(skills, {}, { onLine }))
  await skills.close()
  expect(await Promise.all(ends)).toEqual([
    expect.stringMatching(/^SCRIPT_FAILED: git\.go: .*the runner was closed/),
    'CLOSED: the runner of scripts is closed',
    expect.stringMatching(/^SCRIPT_FAILED: git\.go: .*the runner was closed/),
  ])
  expect(countScriptProcesses()).toBe(0)
})

test('definitions that a script reports are checked before they are published', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('odd')
  const define = (fields: string): string =>
    `${IMPORT}export const c = defineCommand({ name: 'c', ${fields}, run: () => 1 })`
  folder.write(
    'odd/scripts/a.js',
    define(`description: '${'x'.repeat(9_000)}', hints: { readOnly: 'yes', destructive: true, other: 1 }`),
  )
  await using skills = await openScripts(folder.path)
  await skills.scripts.execute('odd.c')
  expect(skills.scripts.find('odd.c')?.hints).toEqual({ destructive: true })
  expect(skills.scripts.find('odd.c')?.description).toHaveLength(4_096)
  for (const [input, words] of [
    ["{ type: 'object', required: 'a' }", '"required" of its input is "a"; use a list of names'],
    ["{ type: 'string' }", 'the type of its input is "string"; use "object"'],
    ["{ type: 'object', properties: [] }", 'the properties of its input are []'],
    ["(() => ({ type: 'object', required: [1] }))()", '"required" of its input is [1]'],
  ] as const) {
    folder.write('odd/scripts/a.js', define(`description: 'd', input: ${input}`))
    await skills.reload()
    expect(codes(skills)).toEqual(['COMMAND_INVALID'])
    expect(JSON.stringify(skills.current.reports())).toContain(words.replaceAll('"', '\\"'))
  }
})

describe('a mistake in a command file', () => {
  test.each([
    ["import { defineCommand } from 'skillstoke/comand'", 'scripts cannot import "skillstoke/comand"'],
    ["import { defineCommand } from '@skillstoke/core'", 'scripts cannot import "@skillstoke/core"'],
    [
      "import { defineComand } from 'skillstoke/command'",
      '"skillstoke/command" has no export "defineComand"',
    ],
    ["import defineCommand from 'skillstoke/command'", '"skillstoke/command" has no default export'],
    ['', 'defineCommand is used but not imported'],
    ['const =', 'unexpected token'],
  ])('the mistake %s is reported, and the older code still runs', async (head, message) => {
    using folder = new TemporaryFolder()
    write(folder, 'return "old"')
    await using skills = await openScripts(folder.path)
    expect(await run(skills)).toBe('old')
    folder.write('git/scripts/go.js', commandText('go', 'return "new"').replace(IMPORT.trim(), head))
    await skills.reload()
    expect(JSON.stringify(skills.current.reports())).toContain(JSON.stringify(message).slice(1, -1))
    expect(await run(skills)).toBe('old')
  })

  test('after a mistake in new code, a host that starts later still runs the older code, even if it needs a process to list the commands', async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    folder.writeSkill('git')
    const text = `${IMPORT}import { z } from 'zod'\nexport const go = defineCommand({ name: 'go', description: 'd', input: z.object({}), run: () => 'good' })\n`
    folder.write('git/scripts/go.js', text)
    const open = async (): Promise<SkillRuntime> =>
      await openScripts(folder.path, { runtime: { state: { store: await openSkillStore(state.path) } } })
    await using first = await open()
    expect(await run(first)).toBe('good')
    await first.close()
    folder.write('git/scripts/go.js', `${text}const x = {`)
    await using second = await open()
    expect(await run(second)).toBe('good')
  })
})

test('after a failure of the machine, the next call tries again without an edit', async () => {
  using folder = new TemporaryFolder()
  using state = new TemporaryFolder()
  folder.writeSkill('git')
  folder.write('git/scripts/a.js', commandText('one', 'return 1'))
  // A file in place of a folder simulates a full disk. The machine causes this failure, not the script.
  state.write('scripts', '')
  await using skills = await openScripts(folder.path, { directory: state.at('scripts') })
  await expect(skills.scripts.execute('git.one')).rejects.toMatchObject({
    code: 'SCRIPT_FAILED',
    message: expect.stringContaining('the scripts cannot be loaded: '),
  })
  state.remove('scripts')
  expect((await skills.scripts.execute('git.one')).value).toBe(1)
  expect(skills.current.reports()[0]).toMatchObject({ status: 'ok', diagnostics: [] })
})

test.skipIf(!HAS_BUBBLEWRAP)(
  'after a sandbox has failed once, the runner tries to use it again',
  async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/git')
    folder.write('skills/git/scripts/go.js', commandText('go', 'return 1'))
    const real = spawnSync('sh', ['-c', 'command -v bwrap'], { encoding: 'utf8' }).stdout.trim()
    const marker = folder.at('failed')
    const text = `#!/bin/sh\nif [ ! -e '${marker}' ]; then touch '${marker}'; echo no memory >&2; exit 1; fi\nexec ${real} "$@"\n`
    chmodSync(folder.write('bin/bwrap', text), 0o755)
    const env = { ...process.env, PATH: `${folder.at('bin')}:${process.env['PATH']}` }
    await using skills = await openScripts(folder.at('skills'), { env })
    expect(await skills.scripts.containment()).toMatchObject({ kind: 'sandbox' })
    expect(existsSync(marker)).toBe(true)
  },
)

test('scripts that run without a sandbox log one warning', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('git')
  folder.write('git/scripts/go.js', commandText('go', 'return 1'))
  const { logger, lines } = recordLog()
  await using skills = await openScripts(folder.path, { sandbox: 'off', runtime: { logger } })
  await skills.scripts.execute('git.go')
  await skills.scripts.execute('git.go')
  expect(lines.filter(line => line.includes('without a sandbox'))).toEqual([
    'scripts run without a sandbox {"reason":"the sandbox is switched off"}',
  ])
})

test('the code of a skill is refused with a reason if it is too large, and the host stays responsive', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('large')
  for (let index = 0; index < 8; index++)
    folder.write(
      `large/scripts/f${index}.js`,
      `${commandText(`c${index}`, 'return 1')}${'/** x */ const a = [1, 2, 3];\n'.repeat(7_000).replaceAll('const', 'var')}`,
    )
  folder.writeSkill('git')
  folder.write('git/scripts/go.js', commandText('go', 'return 1'))
  let ticks = 0
  const timer = setInterval(() => ticks++, 10)
  await using skills = await openScripts(folder.path)
  await skills.scripts.ready()
  clearInterval(timer)
  expect(ticks).toBeGreaterThan(10)
  await expect(skills.scripts.execute('large.c0')).rejects.toThrow(
    'the scripts that define commands have more than 524288 characters in total',
  )
  expect(await run(skills)).toBe(1)
})

test('right after a host starts, the list includes commands that can be found only by running code', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('git')
  const define = (name: string): string =>
    `defineCommand({ name: '${name}', description: 'd', input: { type: 'object' }, run() { return '${name}' } })`
  folder.write(
    'git/scripts/a.ts',
    `import { type DefinedCommand, defineCommand } from 'skillstoke/command'
export const plain = ${define('plain')}
export const cast = ${define('cast')} as DefinedCommand
export const one = ${define('satisfied')} satisfies DefinedCommand
export * from './lib/_more.ts'
const chosen = Date.now() > 0 ? ${define('chosen')} : undefined
export { chosen }
let late
late = ${define('late')}
export { late }
`,
  )
  folder.write('git/scripts/lib/_more.ts', `${IMPORT}export const more = ${define('more')}`)
  await using skills = await openScripts(folder.path)
  await skills.scripts.ready()
  expect(skills.scripts.list().map(({ name }) => name)).toEqual([
    'cast',
    'chosen',
    'late',
    'more',
    'plain',
    'satisfied',
  ])
})

test('during clear(), calls still find the commands of the skill', async () => {
  using folder = new TemporaryFolder()
  write(folder, 'await new Promise(resolve => setTimeout(resolve, 5)); return 1')
  await using skills = await openScripts(folder.path)
  let isOver = false
  const callers = Array.from({ length: 4 }, async () => {
    const values = new Set<unknown>()
    while (!isOver) values.add(await run(skills))
    return [...values]
  })
  for (let round = 0; round < 5; round++) await skills.scripts.clear('git')
  isOver = true
  expect(await Promise.all(callers)).toEqual([[1], [1], [1], [1]])
})

test('a text that takes very long to parse delays neither other skills nor close()', async () => {
  using folder = new TemporaryFolder()
  write(folder, 'return 1')
  folder.writeSkill('slow')
  const slow = `${'<a>('.repeat(40)}1${')'.repeat(40)}`
  for (let index = 0; index < 4; index++) {
    folder.write(`slow/scripts/s${index}.ts`, `${IMPORT}export const c${index} = defineCommand(${slow})\n`)
    folder.write(`slow/scripts/lib/e${index}.ts`, `enum E {}\n${slow}\n`)
  }
  folder.write('slow/scripts/go.sh', 'echo ran\n')
  const skills = await openScripts(folder.path)
  const slowOnes = skills.scripts.ready()
  expect(await run(skills)).toBe(1)
  write(folder, 'return 2')
  expect(await run(skills)).toBe(2)
  if (HAS_BUBBLEWRAP)
    expect((await skills.scripts.run('slow', 'scripts/go.sh', [], { timeoutMs: 4_000 })).stdout).toBe('ran\n')
  await skills.close()
  await slowOnes
})

test('messages do not contain the whole value of a very long constant', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('git')
  const long = Array.from({ length: 2_000 }, () => 's').join('+')
  folder.write(
    'git/scripts/a.js',
    `${IMPORT}const s = '${'x'.repeat(100_000)}'\nexport const c = defineCommand({ name: ${long}, description: 'd', run() {} })\n`,
  )
  await using skills = await openScripts(folder.path)
  const error: unknown = await skills.scripts.execute('git.c').catch((thrown: unknown) => thrown)
  expect(String(error).length).toBeLessThan(1_000)
})

test('if a skill is removed while its older code loads, the process that loads this code ends', async () => {
  using folder = new TemporaryFolder()
  using state = new TemporaryFolder()
  folder.writeSkill('git')
  const good = `${IMPORT}import { z } from 'zod'\nexport const go = defineCommand({ name: 'go', description: 'd', input: z.object({}), run: () => 'good' })\n`
  folder.write('git/scripts/go.js', good)
  const first = await openScripts(folder.path, {
    runtime: { state: { store: await openSkillStore(state.path) } },
  })
  expect(await run(first)).toBe('good')
  await first.close()
  folder.write('git/scripts/go.js', `throw new Error('broken')\n${good}`)
  const real = childProcesses()
  const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  // A runner that ignores an abort and finishes loading late.
  const deaf: ScriptRunner = {
    containment: () => real.containment(),
    scan: (...parts) => real.scan(...parts),
    mayRun: path => real.mayRun(path),
    runFile: (...parts) => real.runFile(...parts),
    close: () => real.close(),
    load: async (program, scan) => {
      const outcome = await real.load(program, scan)
      if (outcome.kind === 'failed') return outcome
      begun.resolve()
      await released.promise
      return outcome
    },
  }
  await using skills = await openScripts(folder.path, {
    runtime: { state: { store: await openSkillStore(state.path) }, scripts: deaf },
  })
  void run(skills).catch(() => undefined)
  await begun.promise
  folder.remove('git')
  await skills.reload()
  released.resolve()
  await expect.poll(countScriptProcesses).toBe(0)
})
