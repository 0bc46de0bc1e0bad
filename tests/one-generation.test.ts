import { createOfflineModel, SkillAgent } from '@skillstoke/agent'
import type { SkillRuntime } from '@skillstoke/core'
import { GENERATION_META_KEY, REVISION_META_KEY } from '@skillstoke/mcp'
import { verifies } from '@skillstoke/requirements'
import type { Page } from 'playwright-core'
import type { ServerEvent } from 'skillstoke/client'
import { describe, expect, test } from 'vitest'
import { CHROMIUM, collectTrouble, launchBrowser } from './fixtures/browser.ts'
import { type DevProcess, startDev } from './fixtures/dev.ts'
import { follow, until } from './fixtures/follow.ts'
import { CLIENT_KINDS, type ClientProcess, overHttp, overStdio, startClient } from './fixtures/mcp-client.ts'
import { goTo } from './fixtures/open-page.ts'
import { skillText, TemporaryFolder } from './fixtures/skill-folder.ts'

const QUESTION = 'May I use the refund skill?'

interface ToolAnswer {
  readonly content: readonly { readonly text: string }[]
  readonly isError?: boolean
  readonly _meta: Readonly<Record<string, string>>
}

/** All views of the skills of one folder. */
interface Views {
  readonly dev: DevProcess
  readonly events: ServerEvent[]
  readonly clients: readonly { readonly name: string; readonly client: ClientProcess }[]
  /** A runtime in this process, with an agent of its own. */
  readonly own: SkillRuntime
  readonly page: Page
  readonly trouble: readonly string[]
  readonly eventOf: (kind: 'update') => Promise<Extract<ServerEvent, { kind: 'update' }>>
}

async function openViews(
  folder: TemporaryFolder,
  state: TemporaryFolder,
  stack: AsyncDisposableStack,
): Promise<Views> {
  const dev = stack.use(await startDev({ root: folder.path, state: state.path, args: ['--ask', QUESTION] }))
  await dev.printed(/agent: .*30 days/)
  const targets = CLIENT_KINDS.flatMap(kind => [
    { kind, name: `${kind} over http`, target: overHttp(dev) },
    { kind, name: `${kind} over stdio`, target: overStdio(folder.path, state.path) },
  ])
  const clients = await Promise.all(
    targets.map(async ({ kind, name, target }) => ({
      name,
      client: stack.use(await startClient(kind, target)),
    })),
  )
  const events: ServerEvent[] = []
  const end = new AbortController()
  stack.defer(() => end.abort())
  let wake = (): void => undefined
  void (async () => {
    for await (const event of dev.client.events({ signal: end.signal })) {
      events.push(event)
      wake()
    }
  })()
  const browser = await launchBrowser()
  stack.defer(async () => await browser.close())
  const page = await browser.newPage()
  return {
    dev,
    events,
    clients,
    own: stack.use(await follow(folder.path, { label: 'root-1' })),
    page,
    trouble: collectTrouble(page, dev.url),
    eventOf: async kind => {
      for (;;) {
        const found = events.find(event => event.kind === kind)
        if (found !== undefined) return found
        await new Promise<void>(resolve => (wake = resolve))
      }
    },
  }
}

const load = async (client: ClientProcess): Promise<ToolAnswer> =>
  await client.ask<ToolAnswer>('tools/call', { name: 'skill', arguments: { name: 'refund' } })

describe.skipIf(CHROMIUM === undefined)('every view', () => {
  test(`after a save, terminal, API, events, page, MCP and agent show the same digest and text ${verifies('PROMISE-1', 'PROMISE-2')}`, async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    folder.writeSkill('refund', { body: 'Within 30 days.' })
    await using stack = new AsyncDisposableStack()
    const views = await openViews(folder, state, stack)
    const { dev, clients, own, page, trouble } = views
    const conversation = new SkillAgent({ skills: own, model: createOfflineModel() }).conversation('own')
    await conversation.send(QUESTION)
    await page.goto(dev.pageUrl)
    await page.locator('main h1').waitFor()
    await goTo(page, '/skills/refund')
    await page.locator('.prose').getByText('Within 30 days.').waitFor()
    for (const { name, client } of clients)
      expect((await load(client)).content[0]?.text, name).toContain('Within 30 days.')
    const before = await dev.client.status()

    folder.writeSkill('refund', { body: 'Within 60 days.' })
    const update = await views.eventOf('update')
    const { digest, number } = update.status.generation
    const short = digest.slice(7, 15)
    expect(digest).not.toBe(before.generation.digest)

    // API
    const detail = await dev.client.skill('refund')
    expect(detail).toMatchObject({ generation: { digest }, body: 'Within 60 days.' })
    const revision = detail.skills[0]?.serving as string
    expect((await dev.client.status()).generation).toEqual({ number, digest })
    expect(update.entry.changes).toMatchObject([{ name: 'refund', to: revision, facets: ['body'] }])
    // Terminal and its agent
    await dev.printed(new RegExp(`generation ${before.generation.number} -> ${number}, ${short}`))
    await dev.printed(/session dev: notice queued for turn 2, \+\d+ tokens, prefix unchanged (\w{8}) == \1/)
    await dev.printed(new RegExp(`LIVE refund \\w{8} -> ${revision.slice(7, 15)}, body, detected in \\d+ ms`))
    await dev.printed(/turn 2 [\s\S]*agent: .*Within 60 days/)
    expect(dev.output()).not.toContain('CHANGED')
    // Page
    await page.locator('.prose').getByText('Within 60 days.').waitFor()
    await page.keyboard.press('?')
    await page.getByText(`generation ${number} ${short}`).waitFor()
    expect(trouble).toEqual([])
    // MCP: three clients over two transports
    for (const { name, client } of clients) {
      const answer = await load(client)
      expect(answer.content[0]?.text, name).toContain('Within 60 days.')
      expect(answer._meta, name).toMatchObject({
        [GENERATION_META_KEY]: digest,
        [REVISION_META_KEY]: revision,
      })
      const { contents } = await client.ask<{ contents: { text: string; _meta: unknown }[] }>(
        'resources/read',
        {
          uri: 'skill://refund/SKILL.md',
        },
      )
      expect(contents[0]?.text, name).toContain('Within 60 days.')
      expect(contents[0]?._meta, name).toMatchObject({
        [GENERATION_META_KEY]: digest,
        [REVISION_META_KEY]: revision,
      })
    }
    // Agent in another process
    expect((await conversation.send(QUESTION)).text).toContain('Within 60 days.')
    expect(own.current.digest).toBe(digest)
  }, 60_000)

  test(`after a broken save, every view keeps its contents and reports the error ${verifies('PROMISE-3')}`, async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    folder.writeSkill('refund', { body: 'Within 30 days.' })
    await using stack = new AsyncDisposableStack()
    const views = await openViews(folder, state, stack)
    const { dev, clients, own, page } = views
    await page.goto(dev.pageUrl)
    await page.getByRole('heading', { name: 'Nothing needs you' }).waitFor()
    const before = await dev.client.status()
    const answers = await Promise.all(clients.map(async ({ client }) => await load(client)))

    folder.write('refund/SKILL.md', '---\nname: refund\ndescription: "never closed\n---\nBroken text.')
    const update = await views.eventOf('update')
    const { generation } = update.status
    expect(generation).toEqual({ number: before.generation.number + 1, digest: before.generation.digest })
    expect(update.entry).toMatchObject({
      isDigestChanged: false,
      changes: [],
      problems: [{ name: 'refund', status: 'broken', place: expect.stringContaining('SKILL.md:3:') }],
    })
    const detail = await dev.client.skill('refund')
    expect(detail).toMatchObject({
      body: 'Within 30 days.',
      refusedText: expect.stringContaining('never closed'),
    })
    expect(detail.skills).toMatchObject([{ status: 'broken', revision: null, diagnostics: [{ line: 3 }] }])
    const serving = detail.skills[0]?.serving as string
    await dev.printed(new RegExp(`REJECTED .*SKILL.md:3:14: .*${serving.slice(7, 15)} stays live`))
    await page.getByRole('heading', { name: '1 thing needs you' }).waitFor()
    await page.getByRole('main').getByRole('link', { name: 'refund' }).first().click()
    await page.getByText('The newest save is broken at line 3').waitFor()
    await page.locator('.src .ln.bad', { hasText: 'never closed' }).waitFor()
    await page.locator('.prose').getByText('Within 30 days.').waitFor()
    await Promise.all(
      clients.map(async ({ name, client }, index) => {
        expect((await load(client)).content[0], name).toEqual(answers[index]?.content[0])
      }),
    )
    await until(own, 'the error is visible', each => each.reports()[0]?.status === 'broken')
    expect(own.current.digest).toBe(before.generation.digest)
    expect(own.current.get('refund').revision).toBe(serving)

    folder.write('refund/SKILL.md', skillText('refund', { body: 'Fixed.' }))
    await page.locator('.prose').getByText('Fixed.').waitFor()
    await dev.printed(/agent: .*Fixed/)
    for (const { name, client } of clients)
      expect((await load(client)).content[0]?.text, name).toContain('Fixed.')
  }, 60_000)
})
