import { once } from 'node:events'
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { createAdaptorServer } from '@hono/node-server'
import { createSkillRuntime } from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'
import { createSkillsServer } from '@skillstoke/mcp'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { ChatProcess, type ChatProcessOptions } from './fixtures/chat.ts'
import { BIN, type CliOptions, type CliRun, stokeBeside, stoke as stokeThread } from './fixtures/cli.ts'
import { type ChatReply, OpenAiServer } from './fixtures/openai-server.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

const SCRIPT = `import { defineCommand } from 'skillstoke/command'
export const day = defineCommand({ name: 'day', description: 'Names the day.', run: () => 'Monday' })
`

let folder: TemporaryFolder
beforeEach(() => {
  folder = new TemporaryFolder()
  folder.writeSkill('skills/refund', { body: 'Within 30 days.' })
})
afterEach(() => folder[Symbol.dispose]())

function start(args: readonly string[] = [], options: Partial<ChatProcessOptions> = {}): ChatProcess {
  return new ChatProcess({ folder, args, ...options })
}

interface ChatRun {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const inFolder = (): CliOptions => ({
  cwd: folder.path,
  env: { CI: undefined, HOME: folder.at('home'), NO_COLOR: '1', TERM: 'xterm' },
})

/** Runs a chat with the given standard input. */
async function chat(args: readonly string[], input = ''): Promise<ChatRun> {
  const words = ['chat', ...args, '--state', folder.at('state')]
  const { status, stdout, stderr } = await stokeBeside(words, { ...inFolder(), input })
  return { code: status, stdout, stderr }
}

function stoke<T>(...args: readonly string[]): CliRun<T> {
  return stokeThread<T>([...args, '--state', folder.at('state')], inFolder())
}

/** Starts a model server that gives the replies in order, and returns the flags that select it. */
async function startModel(
  ...replies: readonly ChatReply[]
): Promise<{ readonly server: OpenAiServer; readonly flags: readonly string[] } & AsyncDisposable> {
  const server = await OpenAiServer.start(call => replies[call - 1] ?? { kind: 'text', text: 'Done.' })
  const flags = ['--base-url', server.baseUrl, '--model', 'test']
  return { server, flags, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

/** Returns the messages of the user in the last request. */
function lastQuestions({ requests }: OpenAiServer): readonly unknown[] {
  const users = requests.at(-1)?.messages.filter(({ role }) => role === 'user') ?? []
  return users.map(({ content }) => content)
}

const stopOf = ({ stderr }: ChatRun): string =>
  stderr.split('\n').find(line => /busy|failed/.test(line)) ?? ''

describe('stoke chat without a terminal', () => {
  test('answers each line on standard output, and prints everything else on standard error', async () => {
    const { code, stdout, stderr } = await chat(['c-1'], 'Use refund.\n\nAnd refund again?\n')
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^By the skill refund \([0-9a-f]{8}\): Within 30 days\.\nBy the skill refund .*\n$/,
    )
    expect(stderr).toMatch(
      /^new conversation c-1, model offline\ncontinue it later: .* chat c-1 --state \S+\n/,
    )
    expect(stderr.match(/calls skill \{"name":"refund"\}/g)).toHaveLength(1)
    expect(stderr).not.toContain('model call')
  })

  test('continues a stored conversation, and lists it with time and number of messages', async () => {
    await using model = await startModel()
    expect((await chat(['c-1', ...model.flags, '--ask', 'The first question.'])).stdout).toBe('Done.\n')
    const second = await chat(['c-1', ...model.flags, '--ask', 'The second question.'])
    expect(second.stderr).toMatch(
      /conversation c-1 with 3 messages.*\n.* chat c-1 --state \S+ --model test --base-url http/s,
    )
    expect(second.stderr).toContain('agent: Done.')
    expect(lastQuestions(model.server)).toEqual(['The first question.', 'The second question.'])
    const listed = stoke<readonly object[]>('chat', '--list', '--json')
    expect(listed.json).toEqual([{ id: 'c-1', messages: 5, at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) }])
    expect(stoke('chat', '--list').stdout).toMatch(/^ID {3}TIME \(UTC\) +MESSAGES\nc-1 {2}\d{4}-.* 5\n/)
  })

  test('makes a readable id, and an empty list writes nothing', async () => {
    expect(stoke('chat', '--list').stdout).toMatch(/^no conversations in .*conversations\.sqlite\n$/)
    const { stderr } = await chat(['--ask', 'Hello.', '--keep'])
    const [, id = ''] = /new conversation (chat-(?:[a-z][aeiou]){3}),/.exec(stderr) ?? []
    expect(id).not.toBe('')
    expect(stoke('chat', '--list').stdout).toContain(id)
  })

  test('stores nothing of a single question that no one asked to keep', async () => {
    const { stdout, stderr } = await chat(['--ask', 'Hello.'])
    expect([stdout, stderr]).toEqual([
      expect.stringMatching(/\S/),
      expect.not.stringContaining('continue it later'),
    ])
    expect(stoke('chat', '--list').stdout).toMatch(/^no conversations in .*conversations\.sqlite\n$/)
  })

  test('prints a saved skill, the notice and the unchanged prefix', async () => {
    await using running = start(['c-1'])
    running.type('Use refund.\n')
    await running.until(/Within 30 days\.\n/)
    folder.writeSkill('skills/refund', { body: 'Within 60 days.' })
    await running.until(/session c-1: notice queued for turn 2, \+\d+ tokens, prefix unchanged/)
    running.type('Use refund.\n')
    await running.until(/Within 60 days\.\n/)
    expect(await running.end()).toBe(0)
    expect(running.stderr).toMatch(/LIVE refund [0-9a-f]{8} -> [0-9a-f]{8}, body, detected in \d+ ms/)
    expect(running.stderr).toMatch(
      / {2}told you loaded refund at [0-9a-f]{8}, it is now [0-9a-f]{8}: load it again.*\n {2}\+\d+ tokens.*\n {2}model call 1, prefix unchanged ([0-9a-f]{8}) == \1\n/,
    )
  })

  test('joins lines to one message after "\\" and between """', async () => {
    await using model = await startModel()
    const input = 'One \\\ntwo.\n"""\nThree\n\n  four\\\n"""\n'
    expect((await chat(model.flags as string[], input)).code).toBe(0)
    expect(lastQuestions(model.server)).toEqual(['One \ntwo.', 'Three\n\n  four\\'])
    const open = await chat([], '"""\nNever closed.\n')
    expect([open.code, open.stdout]).toEqual([2, ''])
    expect(open.stderr).toContain('error: the input ended inside a block')
  })

  test('--json prints one event per line', async () => {
    const { code, stdout, stderr } = await chat(['c-1', '--json'], 'Use refund.\n/skills\n/why nothing\n')
    expect([code, stderr]).toEqual([0, ''])
    const events = stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as Record<string, unknown>)
    const kinds = events.map(({ kind }) => kind).filter(kind => kind !== 'text')
    expect(kinds).toEqual([
      'opened',
      'model-call',
      'tool-call',
      'tool-result',
      'model-answer',
      'model-call',
      'model-answer',
      'finish',
      'skills',
      'why',
    ])
    const text = events.flatMap(({ kind, delta }) => (kind === 'text' ? delta : [])).join('')
    expect(text).toMatch(/^By the skill refund .*Within 30 days\.$/)
    expect(events.find(({ kind }) => kind === 'finish')).toMatchObject({ text, steps: 2, pending: [] })
    const [, refund] = (events.find(({ kind }) => kind === 'skills') as { skills: readonly object[] }).skills
    expect(refund).toMatchObject({ name: 'refund', status: 'ok', isInvocable: true })
    expect(refund).toHaveProperty('loaded', (refund as { here: string }).here)
  })

  test('a failed model call exits with 1, and /retry asks again', async () => {
    await using model = await startModel({ kind: 'status', status: 400 })
    const failed = await chat(['c-1', ...model.flags, '--ask', 'The question.'])
    expect([failed.code, failed.stdout, stopOf(failed)]).toEqual([
      1,
      '',
      expect.stringContaining('status 400'),
    ])
    const retried = await chat(['c-1', ...model.flags], '/retry\n')
    expect([retried.code, retried.stdout]).toEqual([0, 'Done.\n'])
    expect(lastQuestions(model.server)).toEqual(['The question.'])
    const nothing = await chat(['c-1', ...model.flags], '/retry\n')
    expect([nothing.code, nothing.stderr]).toEqual([1, expect.stringContaining('no unanswered message')])
    expect(nothing.stderr).not.toContain('/retry asks again')
  })

  test('a signal stops the answer, and exits with 130', async () => {
    await using model = await startModel({ kind: 'stall' })
    await using running = start(['c-1', ...model.flags])
    running.type('The question.\n')
    await running.until(/One/)
    running.process.kill('SIGINT')
    const [code] = (await once(running.process, 'exit')) as [number]
    expect([code, running.stdout]).toEqual([130, 'One\n'])
    await expect.poll(() => model.server.aborted).toBe(1)
    expect(stoke('chat', '--list').stdout).toContain('c-1')
    await chat(['c-1', ...model.flags, '--ask', 'The next question.'])
    expect(model.server.requests.at(-1)?.messages.slice(1)).toEqual([
      { role: 'user', content: 'The question.' },
      { role: 'assistant', content: 'One' },
      { role: 'user', content: '[The user stopped this answer.]' },
      { role: 'user', content: 'The next question.' },
    ])
  })

  test.each<[readonly string[], string]>([
    [['--list', 'c-1'], '--list lists all conversations'],
    [['--ask', ' '], '--ask is empty'],
    [['--ask', '--root', 'skills'], '--ask has no message before --root'],
    [[''], 'the id of the conversation is empty'],
    [['--confirm', 'all'], '"all" is not one of scripts, writes'],
    [['--base-url', 'http://127.0.0.1:1/v1'], 'needs the name of a model'],
    [['--root', 'nowhere', '--ask', 'Hello.'], 'nowhere'],
  ])('refuses %j with exit code 2', async (args, message) => {
    const { code, stdout, stderr } = await chat(args)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(message)
  })
})

test('stoke chat --help shows examples, and names the values of --confirm', () => {
  const { status, stdout } = stoke('chat', '--help')
  expect(status).toBe(0)
  expect(stdout).toMatch(/Examples:\n {2}\S.* chat$/m)
  expect(stdout.replace(/\s+/g, ' ')).toContain('wait for your y or n: scripts or writes')
})

describe('slash commands', () => {
  test('/skills, /why and /help show the skills of the conversation, also broken ones', async () => {
    folder.write('skills/broken/SKILL.md', '---\nname: broken\ndescription: "x\n---\n')
    folder.write(
      'skills/fix/SKILL.md',
      '---\nname: fix\ndescription: Fixes.\nargument-hint: "[issue]"\n---\nFix $issue.\n',
    )
    folder.writeSkill('skills/secret')
    const { code, stdout } = await chat(['--exclude', 'secret'], '/skills\n/why broken\n/help\n')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^broken +broken +- +- +skills/m)
    expect(stdout).toMatch(/^ok +\/refund +[0-9a-f]{8} +- +skills/m)
    expect(stdout).toMatch(/^no +parsed .*SKILL\.md:3/m)
    expect(stdout).toMatch(/^\/why <skill> +show where a skill stopped/m)
    expect(stdout).toMatch(/^\/fix \[issue\] +Fixes\./m)
    expect(stdout).not.toContain('secret')
  })

  test('/again, /edit and /branch change what the model sees, and the original stays', async () => {
    const texts = ['First.', 'Second.', 'Third.', 'Fourth.', 'Fifth.']
    await using model = await startModel(...texts.map(text => ({ kind: 'text', text }) as const))
    const input = 'One?\nTwo?\n/again\n/edit\n/branch c-2\n/edit 1 Changed?\n/edit\n/edit 2\n/edit 7 No.\n'
    const { code, stdout, stderr } = await chat(['c-1', ...model.flags], input)
    expect([code, stdout]).toEqual([1, 'First.\nSecond.\nThird.\n1  One?\n2  Two?\nFourth.\n1  Changed?\n'])
    expect(
      model.server.requests.map(({ messages }) => messages.map(({ content }) => content).slice(1)),
    ).toEqual([['One?'], ['One?', 'First.', 'Two?'], ['One?', 'First.', 'Two?'], ['Changed?']])
    expect(stderr).toContain('the chat goes on in the copy c-2')
    expect(stderr).toContain('/edit needs the number of a turn and a message')
    expect(stderr).toContain('the conversation "c-2" has no turn 7; the number of its turns is 1')
    await chat(['c-1', ...model.flags, '--ask', 'And then?'])
    expect(lastQuestions(model.server)).toEqual(['One?', 'Two?', 'And then?'])
    expect((await chat(['c-1', ...model.flags], '/branch c-2\n')).stderr).toContain('choose another id')
  })

  test('/test writes the last message into the tests of the skill that was loaded for it', async () => {
    const { code, stderr } = await chat([], 'Use refund.\n/test\n')
    expect(code).toBe(0)
    expect(stderr).toContain(`fires: ${folder.at('skills/refund/evals/tests.yaml')}`)
    expect(readFileSync(folder.at('skills/refund/evals/tests.yaml'), 'utf8')).toBe(
      'fires:\n  - Use refund.\n',
    )
    const missed = await chat([], 'Give the money back.\n/test refund\n/test nobody\n')
    expect(missed.stderr).toMatch(/fires: .*tests\.yaml\n(?:.*\n)*.*there is no skill "nobody"/)
    expect(readFileSync(folder.at('skills/refund/evals/tests.yaml'), 'utf8')).toContain(
      '  - Give the money back.\n',
    )
    const early = await chat([], '/test refund\n/refund\n/test\n')
    expect([early.code, early.stderr]).toEqual([
      0,
      expect.stringMatching(/there is no message yet[\s\S]*a message that names the skill itself is no test/),
    ])
  })

  test('/test writes to no link, and to no skill of somebody else', async () => {
    folder.write('outside/tests.yaml', '')
    symlinkSync(folder.at('outside'), folder.at('skills/refund/evals'))
    const { stderr } = await chat([], 'Use refund.\n/test\n')
    expect(stderr).toMatch(/evals\/tests\.yaml is a link, so no test is written there/)
    expect(readFileSync(folder.at('outside/tests.yaml'), 'utf8')).toBe('')
  })

  test('/name invokes a skill with arguments, and an unknown name is not sent to the model', async () => {
    await using model = await startModel()
    folder.write('skills/fix/SKILL.md', '---\nname: fix\ndescription: Fixes.\n---\nFix $ARGUMENTS.\n')
    const input = '/fix issue 42\n/fixx\n/etc/hosts is a file\n'
    const { code, stderr } = await chat(model.flags, input)
    expect(code).toBe(1)
    expect(stderr).toMatch(/calls \/fix \{"revision":"[0-9a-f]{8}"\}/)
    expect(stderr).toContain('/fixx is neither a command nor a skill of this conversation: ')
    expect(lastQuestions(model.server)).toEqual([
      'issue 42\n\n<skill name="fix">\nFix issue 42.\n</skill>',
      '/etc/hosts is a file',
    ])
  })

  test('a reserved name wins over a skill and says so, and a skill can refuse to be invoked', async () => {
    folder.writeSkill('skills/help')
    folder.write(
      'skills/inner/SKILL.md',
      '---\nname: inner\ndescription: In.\nuser-invocable: false\n---\nIn.\n',
    )
    const { code, stdout, stderr } = await chat([], '/help\n/inner\n/why\n/skills now\n')
    expect(code).toBe(1)
    expect(stderr).toContain('/help is a command of the chat; to use the skill "help", ask for it')
    expect(stdout).toContain('/help is a command here')
    expect(stderr).toContain('the skill "inner" has "user-invocable: false"')
    expect(stderr).toContain('/why needs an argument: /why <skill>')
    expect(stderr).toContain('/skills has no argument, but "now" was given')
    expect(stdout).not.toMatch(/^\/inner/m)
  })

  test('/reload reads everything again, /compact keeps the loaded skills, /quit ends', async () => {
    const input = 'Use refund.\n/reload\n/compact\nUse refund.\n/quit\nNever sent.\n'
    const { code, stdout, stderr } = await chat(['c-1'], input)
    expect(code).toBe(0)
    expect(stderr).toContain('reloaded: read everything again, nothing changed')
    expect(stderr).toMatch(/compacted 4 messages to a summary; loaded again: refund/)
    expect(stdout.match(/Within 30 days/g)).toHaveLength(2)
  })
})

describe('own tools and MCP servers', () => {
  const configure = (agent: object): string => folder.write('skillstoke.json', JSON.stringify({ agent }))
  const library = {
    command: process.execPath,
    args: [BIN, 'mcp', '--root', 'library', '--state', 'library-state'],
  }
  const named = ['--config', 'skillstoke.json']
  const results = ({ requests }: OpenAiServer): readonly unknown[] =>
    requests.at(-1)?.messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : [])) ?? []

  test('the model calls tools of a module, of a program and of an HTTP server, which stay constant', async () => {
    folder.writeSkill('library/maps', { body: 'Maps need form SIX.' })
    await using skills = await createSkillRuntime({ sources: [directory(folder.at('library'))] })
    await using remote = createSkillsServer(skills)
    const http = createAdaptorServer({ fetch: request => remote.fetch(request) })
    onTestFinished(() => void http.close())
    await new Promise<void>(done => http.listen(0, '127.0.0.1', done))
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`
    symlinkSync(resolve('node_modules'), folder.at('node_modules'))
    folder.write(
      'tools.ts',
      `import { type ToolSet, tool } from 'ai'
import { z } from 'zod'
const day = tool({ description: 'Names the day.', inputSchema: z.object({}), execute: () => 'Monday' })
export default { day } satisfies ToolSet`,
    )
    configure({ tools: './tools.ts', mcpServers: { library, remote: { url } } })
    await using model = await startModel(
      { kind: 'tool', name: 'day', input: {} },
      { kind: 'tool', name: 'mcp__library__skill', input: { name: 'maps' } },
      { kind: 'tool', name: 'mcp__remote__skill', input: { name: 'maps' } },
      { kind: 'tool', name: 'mcp__library__skill', input: { name: 'nothing' } },
    )
    const { code, stdout, stderr } = await chat([...named, ...model.flags, '--ask', 'What day is it?'])
    expect([code, stdout], stderr).toEqual([0, 'Done.\n'])
    expect(results(model.server)).toEqual([
      'Monday',
      expect.stringContaining('Maps need form SIX.'),
      expect.stringContaining('Maps need form SIX.'),
      expect.stringContaining('no skill "nothing"'),
    ])
    const names = model.server.requests.map(({ tools }) => tools?.map(each => each.function.name).join())
    expect(new Set(names).size).toBe(1)
  })

  test('a file that comes with a project starts nothing', async () => {
    configure({ tools: './tools.mjs', mcpServers: { library: { command: './never-started' } } })
    const { code, stderr } = await chat(['--ask', 'Hello.'])
    expect(code).toBe(0)
    expect(stderr).toContain('allow them with --config skillstoke.json')
  })

  test.each<[object, string]>([
    [
      { mcpServers: { gone: { command: './no-such-program' } } },
      'the MCP server "gone" cannot be used: spawn',
    ],
    [
      { mcpServers: { gone: { url: 'http://127.0.0.1:1/mcp' } } },
      'the MCP server "gone" (http://127.0.0.1:1/mcp) cannot be used: ',
    ],
    [
      {
        mcpServers: {
          failing: { command: process.execPath, args: ['-e', 'throw new Error("no database")'] },
        },
      },
      'no database',
    ],
    [{ mcpServers: { both: { command: 'a', url: 'http://x' } } }, 'write either "command"'],
    [{ mcpServers: { 'a b': { command: 'a' } } }, 'a server name has 1 to 32 letters'],
    [{ tools: './missing.mjs' }, 'cannot be loaded: '],
    [{ tools: './list.mjs' }, '"day" in the default export of '],
    [{ tools: './clash.mjs' }, 'your tool "skill" has the name of a skill tool'],
  ])('refuses %j with exit code 2', async (agent, message) => {
    folder.write('list.mjs', 'export default { day: {} }')
    folder.write('clash.mjs', 'export default { skill: { inputSchema: { jsonSchema: {} } } }')
    configure(agent)
    const { code, stdout, stderr } = await chat([...named, '--ask', 'Hello.'])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(message)
  })
})

describe('calls that a person confirms', () => {
  beforeEach(() => {
    folder.writeSkill('skills/calendar')
    folder.write('skills/calendar/scripts/day.ts', SCRIPT)
  })
  const CALL = '/calendar.day {}\n'
  const flags = ['--confirm', 'scripts', '--sandbox', 'off']

  test('run after y, and do not run after n', async () => {
    const run = await chat(flags, `${CALL}y\n`)
    expect([run.code, run.stdout]).toEqual([0, 'Monday\n'])
    expect(run.stderr).toContain('may the model call run_skill_command {')
    const declined = await chat(flags, `${CALL}n, not today\n`)
    expect(declined.code).toBe(0)
    expect(declined.stdout).not.toContain('Monday')
  })

  test('are declined by the next message', async () => {
    const { code, stdout, stderr } = await chat(flags, `${CALL}Use refund.\n`)
    expect(code).toBe(0)
    expect(stderr).toContain('the call is declined, because the next line is neither y nor n')
    expect(stdout).toMatch(/^By the skill refund .*Within 30 days\.\n$/)
  })

  test('wait in the store if nobody can be asked', async () => {
    const asked = await chat(['c-1', ...flags, '--ask', CALL.trim()])
    expect([asked.code, asked.stdout]).toEqual([1, ''])
    expect(asked.stderr).toContain('waits for your approval: run_skill_command')
    const answered = await chat(['c-1', ...flags], 'y\n')
    expect([answered.code, answered.stdout]).toEqual([0, 'Monday\n'])
  })
})

describe('a skill that the model writes', () => {
  const ASK = 'Create a skill called release-notes: One line for each change.'

  test('is live in its conversation, and waits for an approval elsewhere', async () => {
    const written = await chat(['c-1', '--ask', ASK])
    expect([written.code, written.stdout]).toEqual([
      0,
      expect.stringContaining('The skill release-notes is live.'),
    ])
    expect(written.stderr).toMatch(/pending .*fix: .* approve .*release-notes@sha256:/s)
    expect(stoke<readonly object[]>('pending', '--json').json).toMatchObject([{ name: 'release-notes' }])
    const use = 'Write the release notes.'
    expect((await chat(['c-2', '--ask', use])).stdout).not.toContain('One line for each change')
    expect((await chat(['c-1', '--ask', use])).stdout).toContain('One line for each change')
    expect(stoke('approve', 'release-notes', '--yes').status).toBe(0)
    expect((await chat(['c-2', '--ask', use])).stdout).toContain('One line for each change')
  })

  test('can be forbidden, or confirmed', async () => {
    expect((await chat(['--no-write', '--ask', ASK])).stdout).not.toContain('is live')
    const { stderr } = await chat(['--confirm', 'writes'], `${ASK}\nn\n`)
    expect(stderr).toContain('may the model call write_skill_file')
    expect(stoke<{ readonly skills: readonly object[] }>('list', '--json').json.skills).toHaveLength(1)
  })
})

describe('a conversation in two processes', () => {
  test('is busy while the other process answers', async () => {
    await using model = await startModel({ kind: 'stall' })
    await using first = start(['c-1', ...model.flags])
    first.type('Take your time.\n')
    await first.until(/One/)
    const second = await chat(['c-1', ...model.flags, '--ask', 'Quickly.'])
    expect([second.code, second.stdout]).toEqual([2, ''])
    expect(stopOf(second)).toContain('another process answers in the conversation "c-1"')
    expect(model.server.requests).toHaveLength(1)
  })

  test('continues after the messages of the other process', async () => {
    await using model = await startModel()
    await using first = start(['c-1', ...model.flags])
    first.type('First.\n')
    await first.until(/Done\.\n/)
    await chat(['c-1', ...model.flags, '--ask', 'Second.'])
    first.type('Third.\n')
    await first.until(/Done\.\nDone\.\n/)
    expect(await first.end()).toBe(0)
    expect(lastQuestions(model.server)).toEqual(['First.', 'Second.', 'Third.'])
  })
})

describe('stoke chat at a terminal', () => {
  const KEYS = { ctrlC: '\u0003', ctrlD: '\u0004', ctrlU: '\u0015' } as const
  const open = async (args: readonly string[] = []): Promise<ChatProcess> => {
    const running = start(args, { isTerminal: true })
    await running.until(/Ctrl-D ends\s+> $/)
    return running
  }

  test('completes names, prints a saved skill above the prompt, and Ctrl-D ends with 0', async () => {
    await using running = await open(['c-1'])
    running.type('/ref\tthe order\r')
    await running.until(/> \/refund the order\n {2}calls \/refund .*\nBy the skill refund .*30 days\.\n> $/)
    running.type('Use ref')
    await running.until(/> Use ref$/)
    folder.writeSkill('skills/refund', { body: 'Within 60 days.' })
    await running.until(/LIVE refund .*prefix unchanged \w+ == \w+\n> Use ref$/s)
    running.type('und.\r')
    await running.until(/told you loaded refund.*Within 60 days\.\n> $/s)
    running.type('/\t\t')
    await running.until(/\/compact\s+\/creating-skills\s+\/edit\s+\/help/)
    running.type(`${KEYS.ctrlU}${KEYS.ctrlD}`)
    expect(await running.end()).toBe(0)
  })

  test('Ctrl-C stops the answer and keeps the conversation, and /retry asks again', async () => {
    await using model = await startModel({ kind: 'stall' })
    await using running = await open(['c-1', ...model.flags])
    running.type('The question.\r')
    await running.until(/One$/)
    running.type(`typed before${KEYS.ctrlC}`)
    await running.until(/One\n {2}interrupted; \/retry asks again\n> $/)
    await expect.poll(() => model.server.aborted).toBe(1)
    running.type('/retry\r')
    await running.until(/Done\.\n> $/)
    expect(lastQuestions(model.server)).toEqual(['The question.'])
    running.type('half a line\\\rmore')
    await running.until(/… more$/)
    running.type(KEYS.ctrlC)
    await running.until(/\^C\n> $/)
    running.type(KEYS.ctrlC)
    await running.until(/press Ctrl-C again to end, or Ctrl-D\n> $/)
    running.type(KEYS.ctrlC)
    expect(await running.end()).toBe(130)
    expect(model.server.requests).toHaveLength(2)
  })

  test('pasted lines are one message, and text typed during an answer is sent after it', async () => {
    await using model = await startModel({ kind: 'text', text: 'First answer.' })
    await using running = await open(model.flags)
    running.type('\u001b[200~one\r\ttwo\\\r\u001b[201~')
    await running.until(/> one\n… .*two\\\n… $/)
    running.type('three\rSecond question.\r')
    await running.until(/First answer\.\n> Second question\.\nDone\.\n> $/)
    expect(lastQuestions(model.server)).toEqual(['one\n\ttwo\\\nthree', 'Second question.'])
  })

  test('asks before a confirmed call, and asks again after a wrong answer', async () => {
    folder.writeSkill('skills/calendar')
    folder.write('skills/calendar/scripts/day.ts', SCRIPT)
    await using running = await open(['--confirm', 'scripts', '--sandbox', 'off'])
    running.type('/calendar.day {}\r')
    await running.until(/may the model call run_skill_command \{.*make the call\? \[y\/n\] $/s)
    running.type('perhaps\r')
    await running.until(/answer y to make the call.*\[y\/n\] $/s)
    running.type('y\r')
    await running.until(/Monday\n> $/)
    running.type('/calendar.day {}\r')
    await running.until(/Monday.*\[y\/n\] $/s)
    running.type(KEYS.ctrlC)
    await running.until(/the call was not made; your next message declines it\n> $/)
    running.type('/quit\r')
    expect(await running.end()).toBe(0)
    expect(running.stdout.match(/Monday/g)).toHaveLength(1)
  })
})

describe('stoke trace', () => {
  test('shows what the model had in a turn, and a command that prints the text of that revision', async () => {
    await chat(['c-1', '--ask', 'Use refund.'])
    folder.writeSkill('skills/refund', { body: 'Within 14 days.' })
    await chat(['c-1', '--ask', 'And refund again?'])
    const { status, stdout } = stoke('trace', 'c-1', '--root', 'skills')
    expect(status).toBe(0)
    const [, before = '', after = ''] = /you loaded refund at (\w{8}), it is now (\w{8})/.exec(stdout) ?? []
    const lines = stdout.split('\n')
    expect(lines[0]).toMatch(/^c-1, turn 2 of 2, \d{4}-\d\d-\d\d \d\d:\d\d: And refund again\?$/)
    expect(lines[3]).toMatch(
      new RegExp(` model call +\\d+ \\(\\w{8}\\) +refund ${before}, was told: ${after}$`),
    )
    expect(lines[4]).toMatch(new RegExp(` tool skill +refund ${after}$`))
    expect(lines[6]).toMatch(/^answer: .*Within 14 days\.$/)
    const [, words = ''] = /read what it had: .*?(show refund --revision .*)$/m.exec(stdout) ?? []
    expect(words).toContain(after)
    const [, ...flags] = words.replace(/ --state .*/, '').split(' ')
    expect(stoke('show', ...flags).stdout).toContain('Within 14 days.')
    expect(stoke('show', 'refund', '--revision', before, '--root', 'skills').stdout).toContain(
      'Within 30 days.',
    )
    const { json } = stoke<{ readonly turn: number }>('trace', 'c-1', '1', '--json')
    expect(json).toMatchObject({ conversation: 'c-1', turn: 1, turns: 2, question: 'Use refund.' })
  })

  test('refuses an unknown conversation and an unknown turn, and creates no file', async () => {
    const missing = stoke('trace', 'c-9')
    expect([missing.status, missing.stderr]).toEqual([
      2,
      expect.stringMatching(
        /^error: there is no conversation "c-9" in \S+; ".* chat --list" shows all ids\n$/,
      ),
    ])
    expect(existsSync(folder.at('state/conversations.sqlite'))).toBe(false)
    await chat(['c-1', '--ask', 'Use refund.'])
    expect(stoke('trace', 'c-9').stderr).toContain('there is no conversation "c-9"')
    expect(stoke('trace', 'c-1', '2').stderr).toBe(
      'error: the conversation "c-1" has no turn 2; the number of its turns is 1\n',
    )
    expect(stoke('trace', 'c-1', 'two')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('"two" is not a whole number above 0'),
    })
  })
})
