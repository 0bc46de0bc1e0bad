import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CHROMIUM, launchBrowser } from './fixtures/browser.ts'
import { type DevProcess, startDev } from './fixtures/dev.ts'
import { findBarriers, goTo, isTooWide, type OpenPage, openPage as openPageIn } from './fixtures/open-page.ts'
import { OpenAiServer } from './fixtures/openai-server.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

const HOSTILE = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'

let browser: Browser | undefined

beforeAll(async () => {
  if (CHROMIUM !== undefined) browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
})

async function openPage(dev: DevProcess, options: BrowserContextOptions = {}): Promise<OpenPage> {
  return await openPageIn(browser as Browser, dev, options)
}

async function tryOut(page: Page, skill: string): Promise<void> {
  await goTo(page, `/skills/${skill}/tests`)
  await boxOf(page).waitFor()
}

function boxOf(page: Page): Locator {
  return page.getByRole('textbox', { name: 'Message' })
}

async function ask(page: Page, question: string): Promise<void> {
  await boxOf(page).fill(question)
  await page.keyboard.press('Enter')
}

/** The answers of the model, in order. */
function answersOf(page: Page): Locator {
  return page.getByRole('log').locator('.prose')
}

/** Opens what the model of the conversation beside the skill has. */
async function openRecord(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Exact prompt, notices and tokens' }).click()
  await page.getByText('What it sees').click()
}

describe.skipIf(CHROMIUM === undefined)('the playground beside a skill', () => {
  const folder = new TemporaryFolder()
  const state = new TemporaryFolder()
  let dev: DevProcess

  beforeAll(async () => {
    folder.writeSkill('refund', { body: 'Within **30 days**.' })
    folder.writeSkill('shipping', { body: 'Ships on Monday.' })
    dev = await startDev({ root: folder.path, state: state.path, args: ['--no-agent'] })
  })
  afterAll(async () => {
    await dev[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
    state[Symbol.dispose]()
  })

  test.each(['light', 'dark'] as const)(
    'a user asks with the keyboard only, edits the skill, and sees notice, loaded revision and exact prompt, %s',
    async colorScheme => {
      folder.writeSkill('refund', { body: 'Within **30 days**.' })
      await using opened = await openPage(dev, { colorScheme })
      const { page } = opened
      const { keyboard } = page
      await goTo(page, '/skills/refund')
      await page.getByRole('heading', { name: 'refund', exact: true }).waitFor()
      await keyboard.press('t')
      await page.getByText('asks the offline model').waitFor()
      expect(await findBarriers(page)).toEqual([])
      await boxOf(page).focus()
      await keyboard.type('May I get a refund?')
      await keyboard.press('Enter')
      await answersOf(page).locator('strong', { hasText: '30 days' }).waitFor()
      expect(await boxOf(page).inputValue()).toBe('')
      await page.getByText(/^2 model calls, \d+ tokens in, \d+ out$/).waitFor()
      await page.getByRole('log').getByText('Loaded refund.').waitFor()

      folder.writeSkill('refund', { body: 'Within **60 days**.' })
      await goTo(page, '/agents')
      await page.getByText(/^Hears about refund at its next step, \+\d+ tokens$/).waitFor()
      expect(await findBarriers(page)).toEqual([])
      await page.goBack()
      await ask(page, 'And the refund now?')
      await page.getByText(/^Received a notice of changed skills, \+\d+ tokens/).waitFor()
      await page.getByRole('log').getByText('you loaded refund at').waitFor()
      await answersOf(page).locator('strong', { hasText: '60 days' }).waitFor()
      const { serving } = (await dev.client.skills()).skills.find(({ name }) => name === 'refund') ?? {}

      await openRecord(page)
      for (const part of [/^System text, /, /^4 tools$/, /^9 messages$/]) await page.getByText(part).click()
      await page.getByText(/^Heard of changes, \+\d+ tokens\. Cache kept\.$/).waitFor()
      await page.getByText('<available_skills>').first().waitFor()
      const record = page.locator('.details')
      await record.getByText('"object"').first().waitFor()
      await record.getByText('And the refund now?').waitFor()
      await record.getByText('<skills_update').waitFor()
      await page.getByText('Tokens and fingerprints').click()
      await record.getByText('Step 2, call 2').waitFor()
      await record
        .getByText(/^[0-9a-f]{8} unchanged; \d+ tokens in/)
        .first()
        .waitFor()
      await record
        .getByText(serving?.slice(7, 15) ?? '')
        .first()
        .waitFor()
      expect(await findBarriers(page)).toEqual([])
      expect(opened.trouble).toEqual([])
    },
  )

  test('a phone shows the whole playground without horizontal scrolling', async () => {
    await using opened = await openPage(dev, { viewport: { width: 380, height: 700 } })
    const { page } = opened
    await tryOut(page, 'refund')
    await ask(page, `May I get a refund? ${'long'.repeat(40)}`)
    await page
      .getByText(/ tokens in/)
      .first()
      .waitFor()
    await page.getByText('Answer of skill').click()
    expect(await isTooWide(page)).toBe(false)
    await openRecord(page)
    for (const part of [/^System text, /, /^\d tools$/, /^\d messages$/]) await page.getByText(part).click()
    expect(await isTooWide(page)).toBe(false)
    expect(await findBarriers(page)).toEqual([])
    expect(opened.trouble).toEqual([])
  })

  test('a slash command invokes the skill without a question, and each skill has its own conversation', async () => {
    await using opened = await openPage(dev)
    const { page } = opened
    await tryOut(page, 'shipping')
    expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true)
    await page.getByRole('checkbox', { name: 'as /shipping' }).check()
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText(/^Loaded shipping [0-9a-f]{8} by its slash command$/).waitFor()
    await answersOf(page).getByText('Ships on Monday.').waitFor()
    await tryOut(page, 'refund')
    expect(await answersOf(page).count()).toBe(0)
    await tryOut(page, 'shipping')
    await answersOf(page).getByText('Ships on Monday.').waitFor()
    await page.getByRole('button', { name: 'New conversation' }).click()
    expect(await answersOf(page).count()).toBe(0)
    expect(opened.trouble).toEqual([])
  })

  test('Esc in the question box leaves the box and not the skill', async () => {
    await using opened = await openPage(dev)
    const { page } = opened
    await tryOut(page, 'refund')
    await boxOf(page).fill('unfinished')
    await page.keyboard.press('Escape')
    expect(await page.evaluate('document.activeElement === document.body')).toBe(true)
    expect(await boxOf(page).inputValue()).toBe('unfinished')
  })
})

/** A model server whose answer reports cached tokens. */
async function startCachingServer(): Promise<AsyncDisposable & { readonly baseUrl: string }> {
  const chunk = (fields: object): string =>
    `data: ${JSON.stringify({ id: '1', object: 'chat.completion.chunk', created: 1, model: 'x', ...fields })}\n\n`
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: 'Hello.' } }] }))
    response.write(chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }))
    const usage = {
      prompt_tokens: 1200,
      completion_tokens: 7,
      prompt_tokens_details: { cached_tokens: 1000 },
    }
    response.end(`${chunk({ choices: [], usage })}data: [DONE]\n\n`)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

describe.skipIf(CHROMIUM === undefined)('the playground with a model server', () => {
  async function startWith(baseUrl: string, folder: TemporaryFolder): Promise<DevProcess> {
    const args = ['--no-agent', '--base-url', baseUrl, '--model', 'test-model']
    return await startDev({ root: folder.at('skills'), state: folder.at('state'), args })
  }

  test('a user cancels an answer with Esc or the button, and then asks again', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/refund')
    await using server = await OpenAiServer.start(call =>
      call < 3 ? { kind: 'stall' } : { kind: 'text', text: 'Here I am.', isUncounted: true },
    )
    await using dev = await startWith(server.baseUrl, folder)
    await using opened = await openPage(dev)
    const { page } = opened
    await tryOut(page, 'refund')
    await page.getByText('asks test-model').waitFor()
    await ask(page, 'One?')
    await page.locator('.growing', { hasText: 'One' }).waitFor()
    expect(await page.getByRole('log').getAttribute('aria-busy')).toBe('true')
    expect(await findBarriers(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByText('Stopped.').waitFor()
    await expect.poll(() => server.aborted).toBe(1)
    await ask(page, 'Two?')
    await expect.poll(() => server.requests.length).toBe(2)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await expect.poll(() => page.getByText('Stopped.').count()).toBe(2)
    await expect.poll(() => server.aborted).toBe(2)
    await ask(page, 'Three?')
    await answersOf(page).getByText('Here I am.').waitFor()
    await page.getByText('the provider reported no tokens').first().waitFor()
    expect(opened.trouble).toEqual([])
  })

  test('a message becomes a test of the skill beside it', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/refund')
    await using server = await OpenAiServer.start(() => ({ kind: 'text', text: 'Here I am.' }))
    await using dev = await startWith(server.baseUrl, folder)
    await using opened = await openPage(dev)
    const { page } = opened
    await tryOut(page, 'refund')
    await ask(page, 'Where is my money?')
    await page.getByRole('button', { name: 'should load refund' }).click()
    await page.getByText(/^Written to .*evals\/tests\.yaml/).waitFor()
    expect(readFileSync(folder.at('skills/refund/evals/tests.yaml'), 'utf8')).toBe(
      'fires:\n  - Where is my money?\n',
    )
    expect(await findBarriers(page)).toEqual([])
    expect(opened.trouble).toEqual([])
  })

  test('the text of a model and of its skills never becomes markup', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/refund', { body: HOSTILE, description: JSON.stringify(HOSTILE) })
    const answer = `${HOSTILE}\n\n![x](http://127.0.0.1:1/x.png) [click](javascript:window.pwned=1) [out](https://example.org/)`
    await using server = await OpenAiServer.start(call =>
      call === 1
        ? { kind: 'tool', name: 'skill', input: { name: 'refund', note: HOSTILE } }
        : { kind: 'text', text: answer },
    )
    await using dev = await startWith(server.baseUrl, folder)
    await using opened = await openPage(dev)
    const { page } = opened
    await tryOut(page, 'refund')
    await ask(page, HOSTILE)
    await answersOf(page).getByText('out', { exact: true }).waitFor()
    expect(await page.locator('.try :is(img, script, iframe)').count()).toBe(0)
    const links = await answersOf(page)
      .locator('a')
      .evaluateAll(all => all.map(each => each.getAttribute('href')))
    expect(links).toEqual(['https://example.org/'])
    await openRecord(page)
    for (const part of [/^System text, /, /^\d tools$/, /^\d messages$/]) await page.getByText(part).click()
    expect(await page.locator('.details :is(img, script, iframe)').count()).toBe(0)
    expect(await page.evaluate(() => 'pwned' in globalThis)).toBe(false)
    expect(opened.trouble).toEqual([])
  })

  test('cached tokens are shown when the provider reports them', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/refund')
    await using server = await startCachingServer()
    await using dev = await startWith(server.baseUrl, folder)
    await using opened = await openPage(dev)
    const { page } = opened
    await tryOut(page, 'refund')
    await ask(page, 'Hello?')
    await page.getByText('1 model call, 1,200 tokens in, 1,000 of them from the cache, 7 out').waitFor()
    await openRecord(page)
    await page.getByText('Tokens and fingerprints').click()
    await page.getByText(/first sent; 1,200 tokens in, 1,000 of them from the cache, 7 out$/).waitFor()
    expect(opened.trouble).toEqual([])
  })

  test('a failure of the provider, and a conversation that ended with its server, are shown with a reason', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/refund')
    await using server = await OpenAiServer.start(call =>
      call === 1 ? { kind: 'status', status: 400 } : { kind: 'text', text: 'Yes.' },
    )
    const args = ['--no-agent', '--base-url', server.baseUrl, '--model', 'test-model']
    const options = { root: folder.at('skills'), env: { SKILLSTOKE_TOKEN: 'a-token-for-this-test' } }
    const first = await startDev({ ...options, state: folder.at('state'), args })
    await using opened = await openPage(first)
    const { page } = opened
    await tryOut(page, 'refund')
    await ask(page, 'One?')
    await page.getByRole('alert').getByText('MODEL_FAILED').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await first[Symbol.asyncDispose]()
    await using second = await startDev({
      ...options,
      state: folder.at('state'),
      args: [...args, '--port', new URL(first.url).port],
    })
    expect(second.url).toBe(first.url)
    await page.getByText('Live', { exact: true }).first().waitFor()
    await ask(page, 'Two?')
    await page.getByRole('log').getByText('there is no playground conversation').waitFor()
    await page.getByRole('button', { name: 'New conversation' }).click()
    await ask(page, 'Three?')
    await answersOf(page).getByText('Yes.').waitFor()
  })
})
