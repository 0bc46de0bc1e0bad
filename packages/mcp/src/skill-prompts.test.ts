import { describe, expect, test } from 'vitest'
import { ERAS, listen, open, text } from '../../../tests/fixtures/mcp-harness.ts'
import { GENERATION_META_KEY, REVISION_META_KEY } from './skill-entry.ts'

const REFUND = `---
name: refund
description: Refunds an order.
argument-hint: "<order> [reason: in one sentence]"
metadata:
  title: Refund an order
  icon: assets/icon.svg
---
Refund order $order because "$reason".
`
const DEPLOY = `---
name: deploy
description: Deploys the shop.
argument-hint: "[staging|production]"
disable-model-invocation: true
---
Deploy to $staging.
`
const HOUSE_RULES = `---
name: house-rules
description: Rules for every answer.
user-invocable: false
---
Be kind.
`
const FILES = {
  'refund/SKILL.md': REFUND,
  'refund/assets/icon.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
  'refund/references/limits.md': 'At most 100.',
  'deploy/SKILL.md': DEPLOY,
  'house-rules/SKILL.md': HOUSE_RULES,
  'greet/SKILL.md': text('greet', 'Greet $1 first.'),
}

describe.each(ERAS)('prompts for a client with protocol version %s', era => {
  test('the skills that a person may invoke are prompts with arguments, title and icon', async () => {
    await using it = await open(FILES)
    const client = await it.connect(era)
    const { prompts, _meta } = await client.listPrompts()
    expect(_meta).toMatchObject({ [GENERATION_META_KEY]: it.skills.current.digest })
    expect(prompts).toMatchObject([
      {
        name: 'deploy',
        arguments: [{ name: 'staging', description: 'One of staging, production.', required: false }],
      },
      { name: 'greet', arguments: [{ name: 'arguments', required: false }] },
      {
        name: 'refund',
        title: 'Refund an order',
        description: 'Refunds an order.',
        arguments: [
          { name: 'order', required: true },
          { name: 'reason', description: 'in one sentence', required: false },
        ],
        icons: [{ src: expect.stringMatching(/^data:image\/svg\+xml;base64,/), mimeType: 'image/svg+xml' }],
      },
    ])
  })

  test('a prompt contains the newest instructions with the arguments, and names the files', async () => {
    await using it = await open(FILES)
    const client = await it.connect(era)
    const ask = async (): Promise<string> => {
      const values = { order: '1042', reason: `it's "late"` }
      const { messages, _meta } = await client.getPrompt({ name: 'refund', arguments: values })
      expect(_meta).toMatchObject({ [REVISION_META_KEY]: it.skills.current.get('refund').revision })
      expect(messages).toMatchObject([{ role: 'user', content: { type: 'text' } }])
      return JSON.stringify(messages)
    }
    const first = await ask()
    expect(JSON.parse(first)[0].content.text).toContain(`Refund order 1042 because "it's "late"".`)
    expect(first).toContain('references/limits.md')
    await it.write('refund/SKILL.md', REFUND.replace('Refund order', 'Pay back'))
    expect(JSON.parse(await ask())[0].content.text).toContain('Pay back 1042')
    const free = await client.getPrompt({ name: 'greet', arguments: { arguments: '"Ann Lee" Bo' } })
    expect(JSON.stringify(free.messages)).toContain('Greet Ann Lee first.')
    expect(it.skills.usageOf('refund')).toMatchObject({ count: 2 })
  })

  test('a prompt that does not exist, or that no person may invoke, is refused with the names of the others', async () => {
    await using it = await open(FILES, { scope: { exclude: ['deploy'] } })
    const client = await it.connect(era)
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['greet', 'refund'])
    for (const name of ['house-rules', 'deploy', 'nothing'])
      await expect(client.getPrompt({ name })).rejects.toThrow(
        `there is no prompt "${name}"; the prompts are "greet", "refund"`,
      )
  })

  test('a prompt without a required argument is refused with -32602', async () => {
    await using it = await open(FILES)
    const client = await it.connect(era)
    for (const values of [{}, { reason: 'late' }, { order: ' ' }])
      await expect(client.getPrompt({ name: 'refund', arguments: values })).rejects.toMatchObject({
        code: -32602,
        message: expect.stringContaining('the prompt "refund" needs a value for "order"'),
      })
    expect((await client.getPrompt({ name: 'refund', arguments: { order: '7' } })).messages).toHaveLength(1)
    expect(it.skills.usageOf('refund')).toMatchObject({ count: 1 })
  })

  test('the choices of an argument-hint complete an argument', async () => {
    await using it = await open(FILES)
    const client = await it.connect(era)
    const complete = async (name: string, argument: string, value: string): Promise<unknown> =>
      (await client.complete({ ref: { type: 'ref/prompt', name }, argument: { name: argument, value } }))
        .completion.values
    expect(await complete('deploy', 'staging', 'pro')).toEqual(['production'])
    expect(await complete('refund', 'order', '1')).toEqual([])
    await expect(complete('house-rules', 'arguments', '')).rejects.toThrow('house-rules')
  })

  test('the template of the resources completes names and paths', async () => {
    await using it = await open(FILES)
    const client = await it.connect(era)
    const { resourceTemplates } = await client.listResourceTemplates()
    expect(resourceTemplates).toMatchObject([{ uriTemplate: 'skill://{name}/{+path}' }])
    const complete = async (
      name: string,
      value: string,
      known?: Record<string, string>,
    ): Promise<unknown> => {
      const { completion } = await client.complete({
        ref: { type: 'ref/resource', uri: 'skill://{name}/{+path}' },
        argument: { name, value },
        ...(known === undefined ? {} : { context: { arguments: known } }),
      })
      return completion.values
    }
    expect(await complete('name', 're')).toEqual(['refund'])
    expect(await complete('path', 'ref', { name: 'refund' })).toEqual(['references/limits.md'])
    expect(await complete('path', '', { name: 'unknown' })).toEqual([])
  })

  test('clients are notified of a changed list of prompts, and of no other change', async () => {
    await using it = await open(FILES)
    const client = await it.connect(era)
    const { notices, count } = listen(client, 'prompts')
    if (era === '2026-07-28') await client.listen({ promptsListChanged: true })
    const change = async (path: string, content: string): Promise<void> => {
      await it.write(path, content)
      await it.clock.advance(300)
    }
    await change('refund/SKILL.md', REFUND.replace('Refund order', 'Pay back'))
    await change('house-rules/SKILL.md', HOUSE_RULES.replace('Rules for', 'Manners for'))
    await change('refund/SKILL.md', REFUND.replace('[reason: in one sentence]', '[reason] [amount]'))
    await count(1)
    await change('house-rules/SKILL.md', HOUSE_RULES.replace('user-invocable: false\n', ''))
    await count(2)
    await change('greet/SKILL.md', text('greet', 'Say hello.'))
    await change('refund/SKILL.md', REFUND.replace('Refund an order', 'Pay an order back'))
    await count(3)
    expect(notices).toEqual(['list', 'list', 'list'])
    expect((await client.listPrompts()).prompts).toHaveLength(4)
  })
})

test('prompts are listed in pages', async () => {
  const names = ['a', 'b', 'c', 'd', 'e']
  await using it = await open(Object.fromEntries(names.map(name => [`${name}/SKILL.md`, text(name)])), {
    pageSize: 2,
  })
  const client = await it.connect('2026-07-28')
  const pages: string[][] = []
  for (let cursor: string | undefined; ; ) {
    const page = await client.request({
      method: 'prompts/list',
      params: cursor === undefined ? {} : { cursor },
    })
    pages.push(page.prompts.map(({ name }) => name))
    cursor = page.nextCursor
    if (cursor === undefined) break
  }
  expect(pages).toEqual([['a', 'b'], ['c', 'd'], ['e']])
})
