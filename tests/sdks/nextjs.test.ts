import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { CHROMIUM, collectTrouble, launchBrowser } from '../fixtures/browser.ts'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'
import { countBrokenPrefixes, ModelServer, type Reply } from './model-server.ts'

const EXAMPLE = resolve('examples/nextjs-chat')
const NEXT = join(EXAMPLE, 'node_modules/next/dist/bin/next')

/** A first build on a busy machine takes minutes. */
const BUILD_TIMEOUT_MS = 600_000

const DONE: Reply = { kind: 'text', text: 'Done.' }
const LOAD: Reply = { kind: 'call', name: 'skill', input: { name: 'refund' } }
const FIND: Reply = { kind: 'call', name: 'findOrder', input: { number: '1042' } }

/** Starts the program of Next.js. The skills and the stored conversations are in the working directory. */
function runNext(args: readonly string[], cwd: string, env: NodeJS.Dict<string> = {}) {
  const { NODE_ENV: _, ...inherited } = process.env
  return spawn(process.execPath, [NEXT, ...args], {
    cwd,
    env: { ...inherited, NEXT_TELEMETRY_DISABLED: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

async function build(): Promise<void> {
  const child = runNext(['build'], EXAMPLE)
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  if (child.exitCode !== 0) throw new Error(`next build failed: ${output}${errors}`)
}

/** A running server of the example. */
interface NextServer extends AsyncDisposable {
  readonly url: string
}

interface NextOptions {
  /** @default the model that needs no key */
  readonly model?: ModelServer
  readonly verb?: 'start' | 'dev'
  readonly application?: string
}

async function startNext(
  folder: TemporaryFolder,
  { model, verb = 'start', application = EXAMPLE }: NextOptions,
): Promise<NextServer> {
  const args = [verb, application, '--hostname', '127.0.0.1', '--port', '0']
  const child = runNext(args, folder.path, { MODEL_URL: model === undefined ? '' : `${model.url}/v1` })
  const ended = once(child, 'close')
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', data => {
      output += String(data)
    })
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await ended
  }
  try {
    const url = await vi.waitFor(() => {
      const [address] = /http:\/\/127\.0\.0\.1:\d+(?=[\s\S]*Ready)/.exec(output) ?? []
      if (address === undefined) throw new Error(`next start is not ready: ${output}`)
      return address
    })
    return { url, [Symbol.asyncDispose]: stop }
  } catch (error) {
    await stop()
    throw error
  }
}

describe.skipIf(CHROMIUM === undefined || !existsSync(NEXT))('the example for Next.js', () => {
  const folder = new TemporaryFolder()
  let model: ModelServer
  let next: NextServer
  let browser: Browser
  let page: Page
  let troubles: (readonly string[])[]
  let chats = 0

  beforeAll(async () => {
    await build()
    model = await ModelServer.start()
    folder.writeSkill('skills/refund')
    next = await startNext(folder, { model })
    browser = await launchBrowser()
  }, BUILD_TIMEOUT_MS)

  afterAll(async () => {
    await browser?.close()
    await next?.[Symbol.asyncDispose]()
    await model?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  /** Opens the page of the newest conversation. */
  async function openPage(url = next.url): Promise<void> {
    await page?.close()
    page = await browser.newPage()
    page.setDefaultTimeout(30_000) // shorter than the test timeout, so that the error names the missing element
    troubles.push(collectTrouble(page, url))
    await page.goto(`${url}/?chat=chat-${chats}`)
  }

  beforeEach(async () => {
    folder.writeSkill('skills/refund', { body: 'Refunds need form ONE.' })
    folder.remove('skills/maps')
    model.requests.length = 0
    troubles = []
    chats++
    await openPage()
  })

  afterEach(async () => {
    await page.close()
    expect(troubles.flat()).toEqual([])
  })

  const press = async (name: string): Promise<void> =>
    await page.getByRole('button', { name, exact: true }).click()

  /** Sends a message, and waits until the page shows it. */
  async function send(message: string, ...replies: readonly Reply[]): Promise<void> {
    model.play(...replies)
    await page.getByLabel('Message').fill(message)
    await page.getByRole('button', { name: /Send|Replace/ }).click()
    await page.getByText(message).waitFor()
  }

  /** Resolves when no answer is streaming. */
  const isIdle = async (): Promise<void> =>
    await page.locator('button:enabled', { hasText: 'Regenerate' }).waitFor()

  async function ask(message: string, ...replies: readonly Reply[]): Promise<void> {
    await send(message, ...replies)
    await isIdle()
  }

  const shown = async (): Promise<string> => await page.locator('main').innerText()
  const lastText = (): string => model.requests.at(-1)?.text ?? ''
  const count = (part: string): number => lastText().split(part).length - 1

  test('a skill that is edited between two messages reaches the model once, also after a restart', async () => {
    await ask('May I get a refund?', LOAD, FIND, DONE)
    expect(await shown()).toMatch(/Skills: refund[\s\S]*Order 1042 was delivered 20 days ago[\s\S]*Done\./)
    folder.writeSkill('skills/refund', { body: 'Refunds need form TWO.' })
    const before = await shown()
    await page.reload()
    expect(await shown()).toBe(before)
    await ask('And now?', LOAD, DONE)
    expect(await shown()).toContain('The skills changed.')
    expect(lastText()).toMatch(/form ONE[\s\S]*And now\?[\s\S]*you loaded refund at[\s\S]*form TWO/)
    await next[Symbol.asyncDispose]()
    next = await startNext(folder, { model })
    await openPage()
    await ask('Thanks.', DONE)
    expect(['form ONE', 'you loaded refund at', 'form TWO'].map(count)).toEqual([1, 1, 1])
    expect(model.requests).toHaveLength(6)
    expect(countBrokenPrefixes(model.requests)).toBe(0)
  })

  test('a stopped answer is stored, and the next message reports a change of the skill that it loaded', async () => {
    await send('May I get a refund?', LOAD, { kind: 'hold' })
    await vi.waitFor(() => expect(model.requests).toHaveLength(2))
    await press('Stop')
    await isIdle()
    folder.writeSkill('skills/refund', { body: 'Refunds need form TWO.' })
    await vi.waitFor(async () => {
      await page.reload()
      expect(await shown()).toContain('Skills: refund')
    })
    await ask('Go on.', DONE)
    await ask('Thanks.', DONE)
    expect(lastText()).toMatch(/form ONE[\s\S]*Go on\.[\s\S]*you loaded refund at/)
    expect([count('you loaded refund at'), count('form TWO')]).toEqual([1, 0])
    expect(countBrokenPrefixes(model.requests)).toBe(0)
  })

  test('a regenerated answer gets the notice again, also after an error', async () => {
    await ask('Hello.', DONE)
    folder.writeSkill('skills/maps')
    await ask('What is new?', { kind: 'text', text: 'Nothing.' })
    model.play({ kind: 'status', status: 400 })
    await press('Regenerate')
    await page.getByText('The answer failed. Regenerate it.').waitFor()
    model.play({ kind: 'text', text: 'Maps.' })
    await press('Regenerate')
    await page.getByText('Maps.').waitFor()
    await isIdle()
    const [first, ...repeated] = model.requests.slice(1).map(({ parts }) => parts)
    expect(repeated).toEqual([first, first])
    expect(count('added: maps')).toBe(1)
    expect(await shown()).not.toMatch(/Nothing|failed/)
  })

  test('an edited message takes back what came after it', async () => {
    await ask('Hello.', DONE)
    folder.writeSkill('skills/maps')
    await ask('May I get a refund?', LOAD, DONE)
    await ask('Why?', DONE)
    await page.getByRole('button', { name: 'Edit' }).nth(1).click()
    await ask('What is new?', DONE)
    expect(await shown()).not.toMatch(/refund|Why/)
    expect(lastText()).toMatch(/Hello[\s\S]*What is new\?[\s\S]*added: maps/)
    expect(lastText()).not.toMatch(/May I|form ONE|Why/)
    folder.writeSkill('skills/refund', { body: 'Refunds need form TWO.' })
    await ask('Thanks.', DONE)
    expect([count('added: maps'), count('you loaded')]).toEqual([1, 0])
    expect(countBrokenPrefixes(model.requests.slice(-2))).toBe(0)
  })

  test('the page about Next.js: without a provider, an answer follows the edited skill', async () => {
    await using offline = await startNext(folder, {})
    const skill = readFileSync(join(EXAMPLE, 'skills/refund/SKILL.md'), 'utf8')
    folder.write('skills/refund/SKILL.md', skill)
    await openPage(offline.url)
    await ask('May I get a refund?')
    await page.getByText('30 days').waitFor()
    folder.write('skills/refund/SKILL.md', skill.replace('30 days', '14 days'))
    await send('May I get a refund now?')
    await page.getByText('14 days').waitFor()
    await isIdle()
  })

  describe('hot replacement', () => {
    // The copy is inside the repository, so that package names resolve, and two folders below its root.
    const application = resolve('.tmp', `next-dev-${process.pid}`)

    beforeAll(() => {
      const isSource = (path: string): boolean => !/^(?:node_modules|\.next|\.tmp)$/.test(basename(path))
      mkdirSync(application, { recursive: true })
      cpSync(EXAMPLE, application, { recursive: true, filter: isSource })
      symlinkSync(join(EXAMPLE, 'node_modules'), join(application, 'node_modules'))
    })
    afterAll(() => rmSync(application, { recursive: true, force: true }))

    test('an edited module does not open a conversation again', async () => {
      await using dev = await startNext(folder, { model, verb: 'dev', application })
      /** Asks the first question of a conversation, and returns what the model received. */
      const post = async (id: string): Promise<readonly string[]> => {
        const messages = [{ id: '1', role: 'user', parts: [{ type: 'text', text: 'Hello.' }] }]
        const body = JSON.stringify({ id, messages })
        await (await fetch(`${dev.url}/api/chat`, { method: 'POST', body })).text()
        return model.requests.at(-1)?.parts ?? []
      }
      const before = await post(`dev-${chats}`)
      const file = join(application, 'lib/skills.ts')
      writeFileSync(
        file,
        readFileSync(file, 'utf8').replace('You help customers.', 'You help all customers.'),
      )
      let others = 0
      await vi.waitFor(async () =>
        expect((await post(`other-${others++}`)).join()).toContain('all customers'),
      )
      expect(await post(`dev-${chats}`)).toEqual(before)
    })
  })
})
