import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { type ScriptLine, SkillError } from '@skillstoke/core'
import { verifies } from '@skillstoke/requirements'
import { expect, test } from 'vitest'
import { commandText, countScriptProcesses, openScripts } from '../fixtures/scripts.ts'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'

async function failure(work: Promise<unknown>): Promise<SkillError> {
  const thrown: unknown = await work.then(
    value => new Error(`it succeeded with ${JSON.stringify(value)}`),
    (error: unknown) => error,
  )
  if (SkillError.isInstance(thrown)) return thrown
  throw thrown
}

function write(folder: TemporaryFolder, name: string, body: string, head = ''): void {
  folder.writeSkill(name)
  folder.write(`${name}/scripts/${name}.js`, commandText('go', body, head))
}

test('an exit code is never a success, and the next call gets a process that works', async () => {
  using folder = new TemporaryFolder()
  write(folder, 'quits', 'if (input.quit) process.exit(0); return "worked"')
  await using skills = await openScripts(folder.path)
  const error = await failure(skills.scripts.execute('quits.go', { quit: true }))
  expect(error).toMatchObject({ code: 'SCRIPT_FAILED' })
  expect(error.message).toBe('quits.go: the process ended without a result: exit code 0')
  expect((await skills.scripts.execute('quits.go')).value).toBe('worked')
})

test('what is written to the channel by hand is no result of anybody else, and harms nobody', async () => {
  using folder = new TemporaryFolder()
  write(
    folder,
    'forges',
    `const { writeSync } = await import('node:fs')
     for (const line of ['', 'no json', '{"kind":"result"}', '{"kind":"result","id":99,"value":"forged"}', '{"kind":"refused","id":' + 1 + '}x', '[]', 'null', '{"kind":"loaded","commands":7}'])
       writeSync(3, line + '\\n')
     return 'honest'`,
  )
  await using skills = await openScripts(folder.path)
  expect((await skills.scripts.execute('forges.go')).value).toBe('honest')
  expect((await skills.scripts.execute('forges.go')).value).toBe('honest')
})

test('a command without an end is ended at its deadline, also when it listens to nobody', async () => {
  using folder = new TemporaryFolder()
  write(folder, 'hangs', 'if (input.spin) for (;;); await new Promise(() => setInterval(() => {}, 1000))')
  await using skills = await openScripts(folder.path)
  for (const input of [{ spin: true }, {}]) {
    const error = await failure(skills.scripts.execute('hangs.go', input, { timeoutMs: 1_500 }))
    expect(error).toMatchObject({ code: 'TIMED_OUT', message: 'hangs.go: it took longer than 1500 ms' })
  }
})

test('a call that nobody wants any more ends its work: politely first', async () => {
  using folder = new TemporaryFolder()
  write(
    folder,
    'waits',
    `globalThis.process_ ??= crypto.randomUUID()
     if (input.who) return process_
     context.log('begun')
     await new Promise(resolve => context.signal.addEventListener('abort', resolve))
     if (input.deaf) for (;;);
     context.log('ended')`,
  )
  await using skills = await openScripts(folder.path, { maxProcesses: 1 })
  const who = async (): Promise<unknown> => (await skills.scripts.execute('waits.go', { who: true })).value
  for (const deaf of [false, true]) {
    const before = await who()
    const controller = new AbortController()
    const call = skills.scripts.execute(
      'waits.go',
      { deaf },
      {
        signal: controller.signal,
        onLine: ({ text }) => text === 'begun' && controller.abort(new Error('enough')),
      },
    )
    await expect(call).rejects.toThrow('enough')
    // Whoever listens is kept for the next call; whoever does not is replaced.
    expect((await who()) === before).toBe(!deaf)
  }
})

test('memory without bounds ends the process and not the host', async () => {
  using folder = new TemporaryFolder()
  write(
    folder,
    'grows',
    'const kept = []; for (let i = 0; i < 100; i++) kept.push(input.heap ? new Array(5e6).fill(i) : Buffer.alloc(1e8, 1)); return kept.length',
  )
  await using skills = await openScripts(folder.path)
  for (const heap of [true, false])
    expect(await failure(skills.scripts.execute('grows.go', { heap }))).toMatchObject({
      code: 'SCRIPT_FAILED',
    })
  expect(process.memoryUsage().rss).toBeLessThan(1_500_000_000)
})

test('an output without bounds is read on and not kept', async () => {
  using folder = new TemporaryFolder()
  write(
    folder,
    'floods',
    `const { writeSync } = await import('node:fs')
     const line = 'x'.repeat(999) + '\\n'
     for (let i = 0; i < 50_000; i++) writeSync(1, line)
     return 'done'`,
  )
  await using skills = await openScripts(folder.path)
  const lines: ScriptLine[] = []
  const { value } = await skills.scripts.execute('floods.go', {}, { onLine: line => void lines.push(line) })
  expect(value).toBe('done')
  expect(lines.length).toBeLessThan(1_100)
  expect(lines.at(-1)?.text).toBe('... more than 1048576 bytes; the rest is not kept')
})

test('a result or a flood of lines beyond the limits is an error', async () => {
  using folder = new TemporaryFolder()
  write(
    folder,
    'big',
    'if (input.lines) for (;;) { context.log("x".repeat(100_000)); await null } return "x".repeat(2_000_000)',
  )
  await using skills = await openScripts(folder.path)
  expect(await failure(skills.scripts.execute('big.go'))).toMatchObject({
    code: 'TOO_LARGE',
    message: 'big.go: the result has 2000002 bytes, more than it may have',
  })
  expect(await failure(skills.scripts.execute('big.go', { lines: true }))).toMatchObject({
    code: 'SCRIPT_FAILED',
  })
})

test('what is no JSON is an error that says so', async () => {
  using folder = new TemporaryFolder()
  write(folder, 'odd', 'const self = {}; self.self = self; return input.big ? 1n : self')
  await using skills = await openScripts(folder.path)
  expect((await failure(skills.scripts.execute('odd.go', { big: true }))).message).toContain('BigInt')
  expect((await failure(skills.scripts.execute('odd.go'))).message).toContain('circular')
})

test('what a granted script has started ends with its process', async () => {
  using folder = new TemporaryFolder()
  const marker = `skillstoke-sleeper-${process.pid}`
  folder.write(
    'starts/SKILL.md',
    '---\nname: starts\ndescription: Starts.\nmetadata:\n  capabilities: exec\n---\nStarts.\n',
  )
  folder.write(
    'starts/scripts/go.js',
    commandText(
      'go',
      `(await import('node:child_process')).spawn('/bin/sh', ['-c', 'sleep 1000; : ${marker}'], { stdio: 'ignore' }); return 'started'`,
    ),
  )
  const isThere = (): boolean =>
    spawnSync('ps', ['-eo', 'args='], { encoding: 'utf8' }).stdout.includes(`: ${marker}`)
  for (const sandbox of ['off', 'auto'] as const) {
    await using skills = await openScripts(folder.path, { sandbox })
    await skills.review.grant('starts', ['exec'])
    expect((await skills.scripts.execute('starts.go')).value).toBe('started')
    expect(isThere()).toBe(true)
    await skills.close()
    for (let i = 0; i < 100 && isThere(); i++) await delay(20)
    expect(isThere()).toBe(false)
  }
})

test(`nothing is left when a runtime is closed ${verifies('OMNI-27')}`, async () => {
  using folder = new TemporaryFolder()
  using state = new TemporaryFolder()
  write(folder, 'works', 'return context.scratchDirectory')
  const skills = await openScripts(folder.path, { directory: state.at('scripts') })
  const scratch = String((await skills.scripts.execute('works.go')).value)
  expect(scratch.startsWith(state.path)).toBe(true)
  expect(countScriptProcesses()).toBeGreaterThan(0)
  await skills.close()
  expect(countScriptProcesses()).toBe(0)
  expect(existsSync(scratch)).toBe(false)
  expect(spawnSync('ls', [state.at('scripts')], { encoding: 'utf8' }).stdout).toBe('')
})

test('what a killed host has left is taken away by the next one', async () => {
  using folder = new TemporaryFolder()
  using state = new TemporaryFolder()
  write(folder, 'works', 'return "ok"')
  state.write('scripts/999999999-abc/program-1/files/x', 'left')
  state.write(`scripts/${process.pid}-mine/kept`, 'of a process that is there')
  await using skills = await openScripts(folder.path, { directory: state.at('scripts') })
  await skills.scripts.execute('works.go')
  expect(existsSync(state.at('scripts/999999999-abc'))).toBe(false)
  expect(readFileSync(state.at(`scripts/${process.pid}-mine/kept`), 'utf8')).toContain('there')
})
