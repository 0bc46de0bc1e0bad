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
const SAVES = 100
const BURST = 100
const BURSTS = 5
const ROUNDS = 10
const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
const PAGE = 'packages/cli/dist/page'

/** Measures the time from the end of a save until a real browser has painted the change in the page of the dev server. */
export async function* b12(): AsyncGenerator<Figure> {
  yield bundleSize()
  if (!existsSync(CHROMIUM)) {
    console.error('B12 needs Chromium; install it at /usr/bin/chromium, or set CHROMIUM to its path')
    return
  }
  using tree = await Tree.make(SKILLS)
  const state = `${tree.path}-state`
  const args = ['packages/cli/bin/stoke.js', 'dev', tree.path, '--state', state, '--port', '0', '--no-agent']
  const dev = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] })
  try {
    const page = await browser.newPage()
    const address = await readAddress(dev)
    await page.goto(address)
    await page.locator('.log').waitFor({ state: 'attached' })
    await setTimeout(5_000) // waits until the tokens of all skills are counted
    const { painted: paints, ready } = await measureStarts(browser, address)
    yield {
      id: 'B12',
      what: 'first overview in a browser without a cache',
      n: SKILLS,
      value: percentiles(ready),
      unit: 'ms',
      target: 'stated',
      peers: {},
    }
    yield {
      id: 'B12',
      what: 'first paint in a browser without a cache',
      n: SKILLS,
      value: percentiles(paints),
      unit: 'ms',
      target: 'p50 <= 100',
      peers: {},
    }
    const { painted, tasks } = await measure(page, tree)
    yield {
      id: 'B12',
      what: 'save -> painted by the page, default settle',
      n: SKILLS,
      value: percentiles(painted),
      unit: 'ms',
      target: 'p50 <= 100',
      peers: {},
    }
    yield {
      id: 'B12',
      what: `tasks of the page above 50 ms during ${SAVES} saves`,
      n: SKILLS,
      value: { p50: tasks.length, p99: tasks.length },
      unit: 'count',
      target: '0',
      peers: {},
    }
    yield {
      id: 'B12',
      what: `frames of the list while ${BURST} skills change`,
      n: SKILLS,
      value: percentiles(await measureFrames(page, tree)),
      unit: 'ms',
      target: 'p50 <= 16.7',
      peers: {},
    }
  } finally {
    await browser.close()
    const ended = once(dev, 'exit')
    dev.kill('SIGTERM')
    await ended
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

/** Returns the milliseconds between two frames of the list while many skills change at once. */
async function measureFrames(page: Page, tree: Tree): Promise<number[]> {
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
  for (let burst = 0; burst < BURSTS; burst++) {
    for (let index = 0; index < BURST; index++) tree.save(index, `burst ${burst}`)
    await setTimeout(700)
  }
  return (await page.evaluate('frames')) as number[]
}
