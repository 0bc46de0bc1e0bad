import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { chromium, type Page } from 'playwright-core'
import { type Figure, percentiles } from '../figure.ts'
import { nameOf, Tree } from '../tree.ts'

const SKILLS = 1_000
const SAVES = 100
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
    await page.goto(await readAddress(dev))
    await page.getByRole('option').first().waitFor()
    await setTimeout(5_000) // waits until the tokens of all skills are counted
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
  } finally {
    await browser.close()
    const ended = once(dev, 'exit')
    dev.kill('SIGTERM')
    await ended
  }
}

/** Measures the size of the page's files after the compression that web servers use. The dev server sends files uncompressed, because its clients are local. */
function bundleSize(): Figure {
  const files = readdirSync(resolve(PAGE), { recursive: true, withFileTypes: true }).filter(each =>
    each.isFile(),
  )
  const bytes = files.map(file => gzipSync(readFileSync(join(file.parentPath, file.name))).length)
  const kilobytes = bytes.reduce((sum, each) => sum + each, 0) / 1_000
  return {
    id: 'B12',
    what: 'size of the page, gzip',
    n: files.length,
    value: { p50: Math.round(kilobytes), p99: Math.round(kilobytes) },
    unit: 'KB',
    target: 'stated',
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
      const shown = document.querySelector('#generation')
      const observer = new MutationObserver(() => {
        observer.disconnect()
        requestAnimationFrame(() => done(Date.now()))
      })
      observer.observe(shown, { subtree: true, childList: true, characterData: true })
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
