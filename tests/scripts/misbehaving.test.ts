import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { SkillError } from '@skillstoke/core'
import type { ScriptLine } from '@skillstoke/core/source'
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

test('a process that exits with 0 and without a result fails the call, and the next call gets a new process', async () => {
  using folder = new TemporaryFolder()
  write(folder, 'quits', 'if (input.quit) process.exit(0); return "worked"')
  await using skills = await openScripts(folder.path)
  const error = await failure(skills.scripts.execute('quits.go', { quit: true }))
  expect(error).toMatchObject({ code: 'SCRIPT_FAILED' })
  expect(error.message).toBe('quits.go: the process ended without a result: exit code 0')
  expect((await skills.scripts.execute('quits.go')).value).toBe('worked')
})

test('forged lines on the result channel never become the result of another call', async () => {
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

test.each([
  ['a value of many levels', 'let v = {}; for (let i = 0; i < 3000; i++) v = { v }; return v'],
  [
    'a log line that is an object',
    `const { writeSync } = await import('node:fs')
     writeSync(3, '{"kind":"log","id":1,"message":{"toString":1,"valueOf":1}}\\n'); return 'went on'`,
  ],
  [
    'a line of brackets',
    `const { writeSync } = await import('node:fs')
     writeSync(3, '{"kind":"log","id":1,"message":' + '['.repeat(20000) + ']'.repeat(20000) + '}\\n'); return 'went on'`,
  ],
])('a command that answers with %s harms only itself', async (_, body) => {
  using folder = new TemporaryFolder()
  write(folder, 'deep', `if (input.fine) return 'fine'; ${body}`)
  await using skills = await openScripts(folder.path)
  const outcome = await skills.scripts.execute('deep.go').then(
    ({ value }) => value,
    (thrown: unknown) => String(thrown),
  )
  expect(outcome).toMatch(/nested more than 256 levels deep|^went on$/)
  expect((await skills.scripts.execute('deep.go', { fine: true })).value).toBe('fine')
})

test('input text arrives unchanged, and answers come back without control characters', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('echo')
  folder.write('echo/scripts/a\u2028b.js', commandText('go', 'return input'))
  await using skills = await openScripts(folder.path)
  const input = { text: 'a\u2028b\u2029c\u0085\r\n\0' }
  const echoed = { text: 'a\u2028b\u2029c\r\n' }
  expect((await skills.scripts.execute('echo.go', input)).value).toEqual(echoed)
  folder.write(
    'echo/scripts/a\u2028b.js',
    commandText('go', 'return [...input.text].map(each => each.codePointAt(0))'),
  )
  await skills.reload()
  const points = [...input.text].map(each => each.codePointAt(0))
  expect((await skills.scripts.execute('echo.go', input)).value).toEqual(points)
})

test.each([
  [
    'a circle',
    () =>
      Object.assign(
        {},
        {
          get self(): unknown {
            return this
          },
        },
      ),
  ],
  ['a bigint', () => ({ n: 1n })],
  ['too many levels for the stack', () => JSON.parse(`${'['.repeat(9_000)}${']'.repeat(9_000)}`) as unknown],
])('an input with %s is reported as an error of the caller', async (_, make) => {
  using folder = new TemporaryFolder()
  write(folder, 'echo', 'return input')
  await using skills = await openScripts(folder.path)
  const error = await failure(skills.scripts.execute('echo.go', make()))
  expect(error).toMatchObject({ code: 'INPUT_INVALID' })
  expect(error.message).toMatch(/^echo\.go: the input cannot be written as JSON: /)
})

test('late rejections and forged answers of a call do not affect the next call', async () => {
  using folder = new TemporaryFolder()
  write(
    folder,
    'leaves',
    `const { writeSync } = await import('node:fs')
     if (input.rejects) { void Promise.reject(new Error('forgotten')); return 'ok' }
     if (input.leaves) {
       setInterval(() => { for (let id = 0; id < 4; id++) writeSync(3, '{"kind":"result","id":' + id + ',"value":"forged"}\\n') }, 5)
       return 'left'
     }
     await new Promise(resolve => setTimeout(resolve, 50))
     return 'honest'`,
  )
  await using skills = await openScripts(folder.path, { maxProcesses: 1 })
  const error = await failure(skills.scripts.execute('leaves.go', { rejects: true }))
  expect(error.message).toMatch(/^leaves\.go: the process ended without a result: exit code 1/)
  expect((await skills.scripts.execute('leaves.go')).value).toBe('honest')
  expect((await skills.scripts.execute('leaves.go', { leaves: true })).value).toBe('left')
  expect((await skills.scripts.execute('leaves.go')).value).toBe('honest')
})

test('a listener that throws does not affect the call', async () => {
  using folder = new TemporaryFolder()
  write(folder, 'tells', "context.log('a'); context.progress(1); console.log('b'); return 'done'")
  await using skills = await openScripts(folder.path)
  const refuse = (): never => {
    throw new Error('thrown by the test')
  }
  const { value } = await skills.scripts.execute('tells.go', {}, { onLine: refuse, onProgress: refuse })
  expect(value).toBe('done')
})

test('an endless command is ended at its deadline, even if it ignores the signal', async () => {
  using folder = new TemporaryFolder()
  write(folder, 'hangs', 'if (input.spin) for (;;); await new Promise(() => setInterval(() => {}, 1000))')
  await using skills = await openScripts(folder.path)
  for (const input of [{ spin: true }, {}]) {
    const error = await failure(skills.scripts.execute('hangs.go', input, { timeoutMs: 1_500 }))
    expect(error).toMatchObject({ code: 'TIMED_OUT', message: 'hangs.go: it took longer than 1500 ms' })
  }
})

test('an abort first asks the script to stop, and then kills its process', async () => {
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
    // If a process stops its call when the abort signal arrives, the same process runs the next call. If a process
    // ignores the abort signal, a new process replaces it.
    expect((await who()) === before).toBe(!deaf)
  }
})

test('a script that uses too much memory ends its process, but not the host', async () => {
  using folder = new TemporaryFolder()
  write(
    folder,
    'grows',
    'const kept = []; for (let i = 0; i < (input.count ?? 100); i++) kept.push(input.heap ? new Array(5e6).fill(i) : Buffer.alloc(1e8, 1)); return kept.length',
  )
  await using skills = await openScripts(folder.path)
  for (const heap of [true, false]) {
    expect(await failure(skills.scripts.execute('grows.go', { heap }))).toMatchObject({
      code: 'SCRIPT_FAILED',
    })
    // A new process answers the next call.
    expect((await skills.scripts.execute('grows.go', { heap, count: 1 })).value).toBe(1)
  }
})

test('output beyond the limit is read and discarded', async () => {
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

test('a call fails if its result or log output exceeds the limits', async () => {
  using folder = new TemporaryFolder()
  write(
    folder,
    'big',
    'if (input.lines) for (;;) { context.log("x".repeat(100_000)); await null } return "x".repeat(2_000_000)',
  )
  await using skills = await openScripts(folder.path)
  expect(await failure(skills.scripts.execute('big.go'))).toMatchObject({
    code: 'TOO_LARGE',
    message: 'big.go: the result has 2000002 bytes, more than the limit',
  })
  expect(await failure(skills.scripts.execute('big.go', { lines: true }))).toMatchObject({
    code: 'SCRIPT_FAILED',
  })
})

test('a call fails with the reason if its result is not JSON', async () => {
  using folder = new TemporaryFolder()
  write(folder, 'odd', 'const self = {}; self.self = self; return input.big ? 1n : self')
  await using skills = await openScripts(folder.path)
  expect((await failure(skills.scripts.execute('odd.go', { big: true }))).message).toContain('BigInt')
  expect((await failure(skills.scripts.execute('odd.go'))).message).toContain('circular')
})

test('programs that a script starts end when the process of the script ends', async () => {
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

test(`close() of a runtime ends all processes and removes all files ${verifies('OMNI-27')}`, async () => {
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

test('a starting host removes the folders that a killed host left behind', async () => {
  using folder = new TemporaryFolder()
  using state = new TemporaryFolder()
  write(folder, 'works', 'return "ok"')
  state.write('scripts/999999999-abc/program-1/files/x', 'left')
  state.write(`scripts/${process.pid}-mine/kept`, 'of a process that is there')
  await using skills = await openScripts(folder.path, { directory: state.at('scripts') })
  await skills.scripts.execute('works.go')
  await expect.poll(() => existsSync(state.at('scripts/999999999-abc'))).toBe(false)
  expect(readFileSync(state.at(`scripts/${process.pid}-mine/kept`), 'utf8')).toContain('there')
})

test('the host discards log output that arrives after the answer, and the process runs further calls', async () => {
  using folder = new TemporaryFolder()
  write(
    folder,
    'late',
    `globalThis.count = (globalThis.count ?? 0) + 1
     setInterval(() => { context.progress(1); context.log('late') }, 1).unref()
     await new Promise(resolve => setTimeout(resolve, 30))
     return globalThis.count`,
  )
  await using skills = await openScripts(folder.path, { maxProcesses: 1 })
  const counts: unknown[] = []
  for (let call = 0; call < 4; call++) {
    counts.push((await skills.scripts.execute('late.go')).value)
    await delay(20)
  }
  expect(counts).toEqual([1, 2, 3, 4])
})
