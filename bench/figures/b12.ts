import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { type Browser, chromium, type Page } from 'playwright-core'
import { type Figure, percentiles } from '../figure.ts'
import { nameOf, Tree } from '../tree.ts'

const SKILLS = 1_000
const MANY = 10_000
const TURNS = 200
const SAVES = 100
const BURST = 100
const BURSTS = 5
const ROUNDS = 10
const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
const PAGE = 'packages/cli/dist/page'

/** Measures the page of the dev server in a real browser: its start, saves, and the frames of a long list. */
export async function* b12(): AsyncGenerator<Figure> {
  yield bundleSize()
  if (!existsSync(CHROMIUM)) {
    console.error('B12 needs Chromium; install it at /usr/bin/chromium, or set CHROMIUM to its path')
    return
  }
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] })
  try {
    yield* measureWork(browser)
    yield* measureLongList(browser)
  } finally {
    await browser.close()
  }
}

async function* measureWork(browser: Browser): AsyncGenerator<Figure> {
  using tree = await Tree.make(SKILLS)
  await using server = await serve(tree)
  const page = await browser.newPage()
  await page.goto(server.address)
  await page.locator('.log').waitFor({ state: 'attached' })
  await setTimeout(5_000) // waits until the tokens of all skills are counted
  const { painted: paints, ready } = await measureStarts(browser, server.address)
  const figure = { id: 'B12', n: SKILLS, unit: 'ms', peers: {} } as const
  yield {
    ...figure,
    what: 'first overview in a browser without a cache',
    value: percentiles(ready),
    target: 'stated',
  }
  yield {
    ...figure,
    what: 'first paint in a browser without a cache',
    value: percentiles(paints),
    target: 'p50 <= 100',
  }
  const { painted, tasks } = await measure(page, tree)
  yield {
    ...figure,
    what: 'save -> painted by the page, default settle',
    value: percentiles(painted),
    target: 'p50 <= 100',
  }
  yield {
    ...figure,
    what: `tasks of the page above 50 ms during ${SAVES} saves`,
    value: { p50: tasks.length, p99: tasks.length },
    unit: 'count',
    target: '0',
  }
  await openList(page)
  for (let burst = 0; burst < BURSTS; burst++) {
    for (let index = 0; index < BURST; index++) tree.save(index, `burst ${burst}`)
    await setTimeout(700)
  }
  yield {
    ...figure,
    what: `frames of the list while ${BURST} skills change`,
    value: percentiles(await page.evaluate('frames')),
    target: 'p50 <= 16.7',
  }
}

async function* measureLongList(browser: Browser): AsyncGenerator<Figure> {
  using tree = await Tree.make(MANY)
  await using server = await serve(tree)
  const page = await browser.newPage()
  await page.goto(server.address)
  await openList(page)
  await page.mouse.move(150, 400)
  for (let turn = 0; turn < TURNS; turn++) {
    await page.mouse.wheel(0, 1_500)
    await page.evaluate('new Promise(requestAnimationFrame)')
  }
  yield {
    id: 'B12',
    what: 'frames of the list while it is scrolled',
    n: MANY,
    value: percentiles(await page.evaluate('frames')),
    unit: 'ms',
    target: 'p50 <= 16.7',
    peers: {},
  }
}

async function serve(tree: Tree): Promise<AsyncDisposable & { readonly address: string }> {
  const args = ['packages/cli/bin/stoke.js', 'dev', tree.path, '--state', `${tree.path}-state`, '--port', '0']
  const dev = spawn(process.execPath, [...args, '--no-agent'], { stdio: ['ignore', 'pipe', 'inherit'] })
  return {
    address: await readAddress(dev),
    [Symbol.asyncDispose]: async () => {
      const ended = once(dev, 'exit')
      dev.kill('SIGTERM')
      await ended
    },
  }
}

/** The files that are loaded with the first view. The editor and the parser of Markdown come later. */
const LATER = /^(?:editor|markdown|third-party)/i

/** Measures the first load after the compression that web servers use. The dev server sends files uncompressed, because its clients are local. */
function bundleSize(): Figure {
  const files = readdirSync(resolve(PAGE), { recursive: true, withFileTypes: true }).filter(
    each => each.isFile() && /\.(?:html|js|css)$/.test(each.name) && !LATER.test(each.name),
  )
  const bytes = files.map(file => gzipSync(readFileSync(join(file.parentPath, file.name))).length)
  const kilobytes = bytes.reduce((sum, each) => sum + each, 0) / 1_000
  return {
    id: 'B12',
    what: 'first load of the page, gzip',
    n: files.length,
    value: { p50: Math.round(kilobytes), p99: Math.round(kilobytes) },
    unit: 'KB',
    target: '<= 90',
    peers: {},
  }
}

async function readAddress(dev: ReturnType<typeof spawn>): Promise<string> {
  if (dev.stdout === null) throw new Error('the dev server has no output')
  for await (const line of createInterface({ input: dev.stdout })) {
    const [, address] = /^ {2}page (\S+)$/.exec(line) ?? []
    if (address === undefined) continue
    dev.stdout.resume()
    return address
  }
  throw new Error('the dev server ended before it printed its address')
}

async function measure(page: Page, tree: Tree): Promise<{ painted: number[]; tasks: number[] }> {
  // This code is a string, because it runs in the page and not in Node.
  await page.evaluate(`
    globalThis.tasks = []
    new PerformanceObserver(list => tasks.push(...list.getEntries().map(each => each.duration))).observe({ type: 'longtask' })
    globalThis.nextPaint = () => new Promise(done => {
      // Each save adds a line to the last changes.
      const observer = new MutationObserver(changes => {
        if (!changes.some(({ addedNodes }) => [...addedNodes].some(node => node.nodeName === 'LI'))) return
        observer.disconnect()
        requestAnimationFrame(() => done(Date.now()))
      })
      observer.observe(document.querySelector('.log'), { childList: true })
    })
  `)
  const painted: number[] = []
  for (let round = 0; round < SAVES; round++) {
    const next = page.evaluate('nextPaint()') as Promise<number>
    await page.evaluate('0') // waits until the page has started `nextPaint()`
    tree.save(round, nameOf(round))
    const saved = Date.now()
    painted.push((await next) - saved)
    await setTimeout(150) // separates the saves, so that they are not a burst
  }
  return { painted, tasks: (await page.evaluate('tasks')) as number[] }
}

/** Returns the milliseconds until the first paint, and until the overview shows the skills. */
async function measureStarts(
  browser: Browser,
  address: string,
): Promise<{ painted: number[]; ready: number[] }> {
  const painted: number[] = []
  const ready: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.addInitScript(`
      new MutationObserver((_, observer) => {
        if (document.querySelector('main h1') === null) return
        observer.disconnect()
        requestAnimationFrame(() => (globalThis.readyAt = performance.now()))
      }).observe(document, { subtree: true, childList: true })
    `)
    await page.goto(address)
    await page.locator('main h1').waitFor()
    await page.evaluate('new Promise(requestAnimationFrame)')
    const paint = 'performance.getEntriesByName("first-contentful-paint")[0].startTime'
    painted.push(await page.evaluate(paint))
    ready.push(await page.evaluate('readyAt'))
    await context.close()
  }
  return { painted, ready }
}

/** Opens the list, and collects the milliseconds between two frames. */
async function openList(page: Page): Promise<void> {
  await page.evaluate('location.hash = "#/skills"')
  await page.locator('.rows a').first().waitFor()
  await page.evaluate(`
    globalThis.frames = []
    let last = performance.now()
    const next = () => {
      const now = performance.now()
      frames.push(now - last)
      last = now
      requestAnimationFrame(next)
    }
    requestAnimationFrame(next)
  `)
}
