import type { Client } from '@modelcontextprotocol/client'
import { FileSource, MemoryFileSystem } from '@skillstoke/core/source'
import { childProcesses } from '@skillstoke/scripts'
import { describe, expect, test } from 'vitest'
import { ERAS, open, text } from '../../../tests/fixtures/mcp-harness.ts'

interface Block {
  readonly text: string
}

describe.each(ERAS)('tools for a client with protocol version %s', era => {
  test('every text of an answer ends its line, because hosts join the texts', async () => {
    await using it = await open({ 'pdf/SKILL.md': text('pdf'), 'maps/SKILL.md': text('maps') })
    const client = await it.connect(era)
    const call = async (input: Record<string, unknown>): Promise<readonly Block[]> =>
      (await client.callTool({ name: 'skill', arguments: input })).content as unknown as Block[]
    const answers = [await call({ name: 'pdf' }), await call({}), await call({ name: 'nope' })]
    await it.write('pdf/SKILL.md', text('pdf', 'Newer.'))
    answers.push(await call({ name: 'maps', since: it.skills.current.digest }))
    for (const each of answers.flat()) expect(each.text).toMatch(/[^\n]\n$/)
    expect(answers.at(-1)?.length).toBeGreaterThan(1)
  })

  test('"since" brings one line about what has changed', async () => {
    await using it = await open(
      {
        'pdf/SKILL.md': text('pdf'),
        'maps/SKILL.md': text('maps'),
        'secret/SKILL.md': text('secret'),
      },
      { scope: { exclude: ['secret'] } },
    )
    const client = await it.connect(era)
    const ask = async (input: Record<string, unknown>): Promise<string> => {
      const { content, isError } = await client.callTool({ name: 'skill', arguments: input })
      expect(isError).toBe(false)
      const lines = (content as unknown as Block[]).map(block => block.text)
      return lines.findLast(line => line.includes('since') || line.includes('not known')) ?? ''
    }
    const generation = it.skills.current.digest
    const revision = it.skills.current.get('pdf').revision
    expect(await ask({ name: 'maps', since: generation.slice(7, 15) })).toBe(
      `No skill has changed since ${generation.slice(7, 15)}.\n`,
    )
    expect(await ask({ name: 'pdf', since: revision })).toBe(
      `pdf has not changed since ${revision.slice(7, 15)}.\n`,
    )
    await it.write('pdf/evals/tests.yaml', 'fires: [Fill in the form]')
    expect(it.skills.current.digest).not.toBe(generation)
    expect(await ask({ name: 'maps', since: generation })).toBe(
      `No skill has changed since ${generation.slice(7, 15)}.\n`,
    )
    expect(await ask({ name: 'pdf', since: revision })).toBe(
      `pdf has not changed since ${revision.slice(7, 15)}.\n`,
    )
    await it.write('pdf/SKILL.md', text('pdf', 'Newer.'))
    await it.write('pdf/a b.md', 'x')
    await it.write('secret/SKILL.md', text('secret', 'Newer.'))
    await it.write('mail/SKILL.md', text('mail'))
    await it.remove('maps')
    const now = it.skills.current
    expect(await ask({ since: generation })).toBe(
      `Changed since ${generation.slice(7, 15)}, the generation is now ${now.digest.slice(7, 15)}: mail added, maps removed, pdf changed.\n`,
    )
    expect(await ask({ name: 'pdf', since: revision.slice(7, 20) })).toBe(
      `pdf has changed since ${revision.slice(7, 15)}, it is now ${now.get('pdf').revision.slice(7, 15)}: SKILL.md, "a b.md".\n`,
    )
    expect(await ask({ since: 'f'.repeat(64) })).toContain('ffffffff is not known to this server any more')
    expect(await ask({ since: 12 })).toContain('"since" is "12"; use the generation or the revision')
  })

  test('an answer names the generation when it lists the skills', async () => {
    await using it = await open({ 'pdf/SKILL.md': text('pdf') })
    const client = await it.connect(era)
    const { content } = await client.callTool({ name: 'skill', arguments: {} })
    expect(JSON.stringify(content)).toContain(`The generation is ${it.skills.current.digest.slice(7, 15)}.`)
  })

  test('a tool of a command has the first sentence of its description as its title, or the words of its name', async () => {
    const command = (name: string, description: string): string =>
      `export const ${name} = defineCommand({ name: '${name}', description: '${description}', run: () => 'x' })\n`
    const code = [
      command('find', 'Finds an order: what was bought.'),
      command('refund', `Pays back ${'very '.repeat(20)}much.`),
    ].join('')
    await using it = await open(
      {
        'orders/SKILL.md': text('orders'),
        'orders/scripts/all.ts': `import { defineCommand } from 'skillstoke/command'\n${code}`,
      },
      { commandTools: true },
      { scripts: childProcesses() },
    )
    const client = await it.connect(era)
    const { tools } = await client.listTools()
    expect(tools.map(({ name, title }) => [name, title])).toEqual([
      ['skill', undefined],
      ['read_skill_file', undefined],
      ['run_skill_command', undefined],
      ['run_skill_script', undefined],
      ['orders.find', 'Finds an order'],
      ['orders.refund', 'orders refund'],
    ])
  })

  test('only a server with author tools lets its clients write skills, and only within the scope', async () => {
    const fileSystem = new MemoryFileSystem({ '/skills/pdf/SKILL.md': text('pdf') })
    const source = new FileSource({ fileSystem, root: '/skills', label: 'skills', writable: fileSystem })
    const options = { authorTools: true, scope: { include: ['pdf'] } }
    await using it = await open({}, options, { sources: [source] })
    const client = await it.connect(era)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name).slice(-2)).toEqual(['write_skill_file', 'reload_skills'])
    const write = async (name: string): Promise<unknown> =>
      await client.callTool({
        name: 'write_skill_file',
        arguments: { skill_name: name, relative_path: 'SKILL.md', content: text(name, 'Written.') },
      })
    expect(await write('maps')).toMatchObject({ isError: true })
    expect(await write('pdf')).toMatchObject({ isError: false })
    const read = await client.callTool({ name: 'skill', arguments: { name: 'pdf' } })
    // The text of an agent is live only in the connection that wrote it.
    expect(JSON.stringify(read.content).includes('Written.')).toBe(era === '2025-11-25')

    await using plain = await open({ 'pdf/SKILL.md': text('pdf') })
    const names = (await (await plain.connect(era)).listTools()).tools.map(({ name }) => name)
    expect(names).toEqual(['skill', 'read_skill_file'])
    await expect(open({ 'pdf/SKILL.md': text('pdf') }, { authorTools: true })).rejects.toThrow('writable')
  })

  test('a command that returns an object also returns structured content', async () => {
    const script = `import { defineCommand } from 'skillstoke/command'
export const total = defineCommand({ name: 'total', description: 'Adds.', run: () => ({ sum: 3, items: ['a'] }) })
export const word = defineCommand({ name: 'word', description: 'Speaks.', run: () => 'hello' })`
    await using it = await open(
      { 'sums/SKILL.md': text('sums'), 'sums/scripts/total.ts': script },
      {},
      { scripts: childProcesses() },
    )
    const client = await it.connect(era)
    const run = async (command: string): Promise<unknown> =>
      await client.callTool({ name: 'run_skill_command', arguments: { skill: 'sums', command } })
    expect(await run('total')).toMatchObject({ structuredContent: { sum: 3, items: ['a'] } })
    expect(await run('word')).not.toHaveProperty('structuredContent')
  })

  test('with "confirmScripts", a script runs only after the person at the client agreed to this call', async () => {
    const script = `import { defineCommand } from 'skillstoke/command'
import { z } from 'zod'
export const pay = defineCommand({ name: 'pay', description: 'Pays.', input: z.object({ to: z.string().optional() }), run: () => 'paid' })`
    await using it = await open(
      { 'money/SKILL.md': text('money'), 'money/scripts/pay.ts': script },
      { confirmScripts: true, commandTools: true },
      { scripts: childProcesses() },
    )
    const run = {
      name: 'run_skill_command',
      arguments: { skill: 'money', command: 'pay', input: { to: 'a\u200bb' } },
    }
    const questions: string[] = []
    const answers: ('accept' | 'decline')[] = ['accept', 'decline', 'accept']
    const asking = await it.connect(era, {}, question => {
      questions.push(question)
      return answers.shift() ?? 'decline'
    })
    expect(await asking.callTool(run)).toMatchObject({ isError: false, content: [{ text: 'paid\n' }] })
    expect(await asking.callTool(run)).toMatchObject({
      isError: true,
      content: [{ text: 'The user declined this run of a script.\n' }],
    })
    expect(await asking.callTool({ name: 'money.pay', arguments: {} })).toMatchObject({ isError: false })
    expect(await asking.callTool({ name: 'skill', arguments: { name: 'money' } })).toMatchObject({
      isError: false,
    })
    expect(questions).toHaveLength(3)
    expect(questions[0]).toContain('run_skill_command')
    expect(questions[0]).toContain('"a<U+200B>b"')
    expect(questions[2]).toContain('money.pay')
    const huge = { ...run, arguments: { skill: 'money', command: 'pay', input: { to: 'x'.repeat(5_000) } } }
    expect(JSON.stringify((await asking.callTool(huge)).content)).toContain('use at most 4000')
    expect(questions).toHaveLength(3)
    const silent = await it.connect(era)
    const refused = await silent.callTool(run)
    expect(refused.isError).toBe(true)
    expect(JSON.stringify(refused.content)).toContain('cannot ask a person')
  })
})

test.each(ERAS)('no request repeats a huge value in its error or answer, protocol version %s', async era => {
  await using it = await open({ 'pdf/SKILL.md': text('pdf') })
  const client = await it.connect(era)
  const huge = 'x'.repeat(900_000)
  const requests: readonly (() => Promise<unknown>)[] = [
    () => client.callTool({ name: huge }),
    () => client.callTool({ name: 'skill', arguments: { name: huge } }),
    () => client.callTool({ name: 'skill', arguments: { name: 'pdf', since: huge } }),
    () => client.callTool({ name: 'read_skill_file', arguments: { skill: 'pdf', path: huge } }),
    () => client.callTool({ name: 'read_skill_file', arguments: { [huge]: 'pdf' } }),
    () => client.getPrompt({ name: huge }),
    () => client.listPrompts({ cursor: huge }),
    () => client.readResource({ uri: huge }),
    () => client.readResource({ uri: `skill://pdf/${huge}` }),
    () => client.complete({ ref: { type: 'ref/prompt', name: huge }, argument: { name: 'a', value: '' } }),
    () => client.complete({ ref: { type: 'ref/resource', uri: huge }, argument: { name: 'a', value: '' } }),
  ]
  const answers = await Promise.all(
    requests.map(async send => {
      try {
        return JSON.stringify(await send())
      } catch (thrown) {
        return String(thrown)
      }
    }),
  )
  expect(answers.map((answer, index) => (answer.length < 6_000 ? index : answer.slice(0, 300)))).toEqual(
    requests.map((_, index) => index),
  )
})

test.each(ERAS)('no error repeats control characters, protocol version %s', async era => {
  await using it = await open({ 'pdf/SKILL.md': text('pdf') })
  const client = await it.connect(era)
  const hostile = 'x\u202ey\rz\u0085q\u001b[31m'
  const requests: readonly (() => Promise<unknown>)[] = [
    () => client.callTool({ name: hostile }),
    () => client.getPrompt({ name: hostile }),
    () => client.listPrompts({ cursor: hostile }),
    () => client.readResource({ uri: hostile }),
    () => client.readResource({ uri: `skill://pdf/${hostile}` }),
    () => client.complete({ ref: { type: 'ref/prompt', name: hostile }, argument: { name: 'a', value: '' } }),
    () =>
      client.complete({ ref: { type: 'ref/resource', uri: hostile }, argument: { name: 'a', value: '' } }),
  ]
  for (const send of requests) {
    const { message } = await send().then(
      () => expect.unreachable(),
      (thrown: Error) => thrown,
    )
    expect(message).not.toMatch(/[^ -~]/)
  }
})

test('the first answer of a connection has the list of skills, once, if the call does not name a skill', async () => {
  await using it = await open({ 'pdf/SKILL.md': text('pdf'), 'maps/SKILL.md': text('maps') })
  const client = await it.connect('2025-11-25')
  const call = async (name: string, input: Record<string, unknown>): Promise<string> =>
    JSON.stringify((await client.callTool({ name, arguments: input })).content)
  expect(await call('skill', { name: 42 })).not.toContain('<available_skills>')
  const first = await call('skill', { name: 'does' })
  expect(first).toContain('The skills of this server:')
  expect(first).toContain('Does maps.')
  expect(await call('skill', { name: 'pdf' })).not.toContain('Does maps.')
  const informed = await it.connect('2025-11-25')
  const loaded = await informed.callTool({ name: 'skill', arguments: { name: 'pdf' } })
  expect(loaded.content).toHaveLength(1)
  const other = await it.connect('2025-11-25')
  const listed = (await other.callTool({ name: 'skill', arguments: {} })).content
  expect(JSON.stringify(listed).split('Does maps.')).toHaveLength(2)
})

describe('a client of 2026-07-28 over HTTP, which has no session', () => {
  const files = { 'pdf/SKILL.md': text('pdf'), 'maps/SKILL.md': text('maps') }
  const textsOf = async (client: Client, name: string, input: object = {}): Promise<string[]> => {
    const { content } = await client.callTool({ name, arguments: { ...input } })
    return (content as readonly { readonly text: string }[]).map(each => each.text)
  }

  test('reads in the answer to each load how to ask for changes', async () => {
    await using it = await open(files)
    const client = await it.connect('2026-07-28')
    const revision = it.skills.current.get('pdf').revision.slice(7, 15)
    const loaded = await textsOf(client, 'skill', { name: 'pdf' })
    expect(loaded).toHaveLength(2)
    expect(loaded[1]).toContain(`"since": "${revision}"`)
    const asked = await textsOf(client, 'skill', { name: 'pdf', since: revision })
    expect(asked.slice(1)).toEqual([`pdf has not changed since ${revision}.\n`])
  })

  test('reads once, in the next answer of any tool, that what it loaded has changed, if it has a token', async () => {
    await using it = await open(files)
    const headers = { authorization: 'Bearer of-desk' }
    const client = await it.connect('2026-07-28', headers)
    const others = [
      await it.connect('2026-07-28', { authorization: 'Bearer of-another' }),
      await it.connect('2026-07-28'),
    ]
    const before = it.skills.current.get('pdf').revision.slice(7, 15)
    for (const each of [client, ...others]) await textsOf(each, 'skill', { name: 'pdf' })
    const read = { skill: 'maps', path: 'SKILL.md' }
    await it.write('pdf/evals/tests.yaml', 'fires: [Fill in the form]')
    expect((await textsOf(client, 'read_skill_file', read)).slice(1)).toEqual([])
    expect(it.skills.current.get('pdf').revision.slice(7, 15)).not.toBe(before)
    await it.write('pdf/SKILL.md', text('pdf', 'New.'))
    await it.write('maps/SKILL.md', text('maps', 'New.'))
    const after = it.skills.current.get('pdf').revision.slice(7, 15)
    // The SDK sends each request separately, and the server object of one request knows no other request.
    expect((await textsOf(client, 'read_skill_file', read)).slice(1)).toEqual([
      `You loaded pdf at ${before}, it is now ${after}: load it again before relying on it.\n`,
    ])
    expect((await textsOf(client, 'read_skill_file', read)).slice(1)).toEqual([])
    expect((await textsOf(others[1] as Client, 'read_skill_file', read)).slice(1)).toEqual([])
    await it.remove('pdf')
    expect((await textsOf(client, 'read_skill_file', read)).slice(1)).toEqual([
      `You loaded pdf at ${after}; it was removed.\n`,
    ])
    // A client that was idle for long has begun another conversation.
    await it.clock.advance(3_600_000)
    expect((await textsOf(others[0] as Client, 'read_skill_file', read)).slice(1)).toEqual([])
  })

  test('reads of a change of a skill that a person invoked as a prompt', async () => {
    await using it = await open(files)
    const client = await it.connect('2026-07-28', { authorization: 'Bearer of-desk' })
    await client.getPrompt({ name: 'pdf' })
    await it.write('pdf/SKILL.md', text('pdf', 'New.'))
    expect((await textsOf(client, 'skill', { name: 'maps' })).at(-1)).toContain('You loaded pdf at ')
  })
})
