import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { chromium } from 'playwright-core'

// Makes the pictures of the documentation from a real run of the dev server, so that the pictures show the current program. page.png shows the page of the dev server, and save.svg shows a save that reaches a running agent. Run it with `npm run pictures`.

const ROOT = resolve(import.meta.dirname, '..')
const QUESTION = 'A customer wants a refund for order 1042. What applies?'
const TIMEOUT_MS = 30_000
const SIZE = { width: 1280, height: 600 }

/** A dev server with a copy of the demo skills. */
class Dev {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'skillstoke-pictures-'))
  readonly #process: ChildProcess
  #output = ''

  constructor() {
    cpSync(join(ROOT, 'demo/skills'), join(this.folder, 'skills'), { recursive: true })
    const args = ['dev', 'skills', '--state', 'state', '--port', '0', '--ask', QUESTION]
    this.#process = spawn(process.execPath, [join(ROOT, 'packages/cli/bin/stoke.js'), ...args], {
      cwd: this.folder,
      env: { ...process.env, NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#process.stdout?.setEncoding('utf8').on('data', text => (this.#output += text))
  }

  /** Waits until the output matches a pattern, and returns the match. Drops the output before the match. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    const end = AbortSignal.timeout(TIMEOUT_MS)
    for (;;) {
      const match = pattern.exec(this.#output)
      if (match !== null) return match
      if (this.#process.stdout === null) throw new Error('the dev server has no output')
      await once(this.#process.stdout, 'data', { signal: end })
    }
  }

  edit(before: string, after: string): void {
    const file = join(this.folder, 'skills/refund/SKILL.md')
    writeFileSync(file, readFileSync(file, 'utf8').replace(before, after))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill('SIGINT')
    await once(this.#process, 'exit')
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** Writes the pictures into a folder. */
export async function makePictures(folder: string): Promise<void> {
  await using dev = new Dev()
  const [, address = ''] = await dev.printed(/^ {2}page (\S+)/m)
  await dev.printed(/^ {2}agent: .*30 days.*$/m)
  dev.edit('30 days', '60 days')
  const [, shown = ''] = await dev.printed(/^(LIVE refund [\s\S]*?^ {2}agent: .*60 days.*)$/m)
  writeFileSync(join(folder, 'save.svg'), drawSave(shown.split('\n')))
  await photograph(address, join(folder, 'page.png'))
}

async function photograph(address: string, file: string): Promise<void> {
  const browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  })
  try {
    const page = await browser.newPage({ viewport: SIZE, deviceScaleFactor: 1 })
    await page.goto(address)
    await page
      .getByRole('row', { name: /refund/ })
      .or(page.getByText('refund').first())
      .first()
      .click()
    await page.getByText('60 days').first().waitFor()
    await page.screenshot({ path: file })
  } finally {
    await browser.close()
  }
}

const WIDTH = 920
const LINE = 19
const MAX_CHARACTERS = 104

interface Panel {
  readonly title: string
  readonly lines: readonly { readonly text: string; readonly color: string }[]
}

/** Draws how a save reaches an agent: the saved file, the new generation, and the next step of the agent. */
function drawSave(lines: readonly string[]): string {
  const find = (pattern: RegExp): string => lines.find(line => pattern.test(line))?.trim() ?? ''
  const plain = (text: string, color = '#c9d1d9'): { text: string; color: string } => ({ text, color })
  const panels: readonly Panel[] = [
    {
      title: 'You save skills/refund/SKILL.md',
      lines: [
        plain('- A refund is possible within 30 days of delivery, if the item is unused.', '#ff7b72'),
        plain('+ A refund is possible within 60 days of delivery, if the item is unused.', '#7ee787'),
      ],
    },
    {
      title: 'Skillstoke publishes one generation for every reader',
      lines: [plain(find(/^LIVE/), '#7ee787'), plain(find(/generation/)), plain(find(/session dev/))],
    },
    {
      title: 'The running conversation follows at its next step',
      lines: [
        plain(find(/told|loaded refund/)),
        plain(find(/model call 1, prefix unchanged/), '#79c0ff'),
        plain(find(/agent:/)),
      ],
    },
  ]
  let y = 16
  const parts = panels.map(panel => {
    const height = 42 + panel.lines.length * LINE
    const text = panel.lines.map(
      ({ text: line, color }, index) =>
        `<text x="36" y="${y + 50 + index * LINE}" fill="${color}" xml:space="preserve">${escapeText(line)}</text>`,
    )
    const box = `<rect x="16" y="${y}" width="${WIDTH - 32}" height="${height}" rx="8" fill="#161b22" stroke="#30363d"/>`
    const title = `<text x="36" y="${y + 25}" fill="#f0f6fc" font-weight="bold" font-family="system-ui, sans-serif" font-size="14">${escapeText(panel.title)}</text>`
    y += height + 14
    return [box, title, ...text].join('\n')
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y + 2}" role="img" aria-label="A save of a skill reaches a running agent" font-family="ui-monospace, monospace" font-size="13">`,
    `<rect width="${WIDTH}" height="${y + 2}" rx="10" fill="#0d1117"/>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n')
}

function escapeText(text: string): string {
  const shown = text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS - 1)}…` : text
  return shown.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}

if (process.argv[1] === import.meta.filename) await makePictures(join(ROOT, 'docs/images'))
