import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type Browser, chromium } from 'playwright-core'
import { ApiClient } from '../packages/cli/src/client/index.ts'
import { BROKEN_REFUND, changeTeam, writeSupportDesk } from '../tests/fixtures/support-desk.ts'
import { DevServer } from './dev-server.ts'
import { recordSaves } from './recording.ts'
import { drawTrace } from './trace.ts'

// Makes the pictures of the documentation from real runs of the dev server, so that they show the current program. Run it with `npm run pictures`.

const IMAGES = resolve(import.meta.dirname, '../docs/images')
export const CHROMIUM: string = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

/** File name, address, and a text of the complete view. */
const VIEWS: readonly (readonly [file: string, address: string, text: string | RegExp])[] = [
  ['page', '/', 'claude-code'],
  ['skill', '/skills/refund', 'Outside the time limit'],
  ['tests', '/skills/refund/tests', 'Repair my coffee machine under warranty'],
  ['changes', '/skills/refund/changes', /^Changes/],
  ['approval', '/skills/tdd', /Approve/],
  ['agents', '/agents', 'cursor'],
]

/** Writes the pictures into a folder. */
export async function makePictures(folder: string): Promise<void> {
  writeFileSync(join(folder, 'save.svg'), await recordSaves())
  writeFileSync(join(folder, 'trace.svg'), await drawTrace())
  let team = ''
  await using dev = new DevServer(path => {
    team = writeSupportDesk(path).team
    writeFileSync(join(path, 'skillstoke.json'), JSON.stringify({ catalog: { maxTokens: 1_400 } }))
    return ['skills', '--source', `file://${team}`, '--ask', 'I want my money back for order 1042']
  })
  const [address = ''] = /http:\S+#token=\S+/.exec(await dev.printed(/to stop\n/)) ?? []
  await prepare(dev, address, team)
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 760 }, colorScheme: 'light' })
    await page.goto(address)
    for (const [file, view, text] of VIEWS) {
      await page.evaluate(`location.hash = ${JSON.stringify(`#${view}`)}`)
      await page.locator('main').getByText(text).first().waitFor()
      writeFileSync(join(folder, `${file}.webp`), await toWebp(browser, await page.screenshot()))
    }
  } finally {
    await browser.close()
  }
}

/** Approves the skills of the team, connects two clients, edits some skills, and saves a mistake. */
async function prepare(dev: DevServer, address: string, team: string): Promise<void> {
  const { origin, hash } = new URL(address)
  const token = decodeURIComponent(hash.replace('#token=', ''))
  const api = new ApiClient({ url: origin, token })
  for (const { target, revision } of (await api.pending()).skills)
    if (revision !== null) await api.decide({ verb: 'approve', skill: target, revision })
  for (const [name, version, skill] of [
    ['claude-code', '2.1.14', 'tdd'],
    ['cursor', '1.9.2', 'refund'],
  ] as const) {
    const client = new Client({ name, version })
    const headers = { authorization: `Bearer ${token}` }
    await client.connect(
      new StreamableHTTPClientTransport(new URL('/mcp', origin), { requestInit: { headers } }),
    )
    await client.callTool({ name: 'skill', arguments: { name: skill } })
  }
  const save = async (name: string, change: (text: string) => string): Promise<void> => {
    const file = join(dev.folder, 'skills', name, 'SKILL.md')
    writeFileSync(file, change(readFileSync(file, 'utf8')))
    await api.reload()
  }
  await save('refund', text => text.replace('14 days', '30 days'))
  await save('shipping', text => text.replace('Norway', 'Norway, Iceland'))
  changeTeam(team)
  await api.reload({ timeoutMs: 60_000 })
  await save('refund', () => BROKEN_REFUND)
}

/** Returns a picture in a format that takes a third of the bytes. */
async function toWebp(browser: Browser, png: Buffer): Promise<Buffer> {
  const page = await browser.newPage()
  const url = await page.evaluate(`(async () => {
    const image = new Image()
    image.src = 'data:image/png;base64,${png.toString('base64')}'
    await image.decode()
    const canvas = document.createElement('canvas')
    canvas.width = image.width
    canvas.height = image.height
    canvas.getContext('2d').drawImage(image, 0, 0)
    return canvas.toDataURL('image/webp', 0.8)
  })()`)
  await page.close()
  return Buffer.from(String(url).replace(/^[^,]*,/, ''), 'base64')
}

if (process.argv[1] === import.meta.filename) await makePictures(IMAGES)
