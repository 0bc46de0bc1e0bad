import { writeFileSync } from 'node:fs'
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CHROMIUM, launchBrowser } from './fixtures/browser.ts'
import { stoke } from './fixtures/cli.ts'
import { type DevProcess, startDev } from './fixtures/dev.ts'
import { GitRepository } from './fixtures/git-repository.ts'
import { findBarriers, type OpenPage, openPage as openPageIn } from './fixtures/open-page.ts'
import { skillText, TemporaryFolder } from './fixtures/skill-folder.ts'

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

describe.skipIf(CHROMIUM === undefined)('the page', () => {
  const folder = new TemporaryFolder()
  const state = new TemporaryFolder()
  let dev: DevProcess

  beforeAll(async () => {
    folder.writeSkill('refund', {
      body: '# Refunds\n\nWithin **30 days**. See [the table](references/table.md).',
    })
    folder.write('refund/references/table.md', '| a | b |\n')
    folder.write('refund/logo.png', new Uint8Array([0x89, 0, 0xff]))
    folder.writeSkill('shipping')
    folder.write('zone/SKILL.md', '---\nname: zone\ndescription: "open\n---\nBody.\n')
    dev = await startDev({
      root: folder.path,
      state: state.path,
      args: ['--ask', 'May I use the refund skill?'],
    })
    await dev.printed(/agent: /)
  })
  afterAll(async () => {
    await dev[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
    state[Symbol.dispose]()
  })

  test('a skill that a conversation loaded shows when and with which revision, on the page and in stoke list', async () => {
    await using opened = await openPage(dev)
    const { page } = opened
    const row = page.getByRole('option', { name: /refund/ })
    await row.getByText(/^used \d\d:\d\d:\d\d$/).waitFor()
    await row.click()
    await page.getByText(/^1 time, last at \d\d:\d\d:\d\d with [0-9a-f]{8}$/).waitFor()
    const { skills } = await dev.client.skills()
    const [refund, shipping] = ['refund', 'shipping'].map(name => skills.find(each => each.name === name))
    expect(refund?.usage).toMatchObject({ count: 1, revision: refund?.serving })
    expect(shipping?.usage).toBeNull()
    const { stdout } = stoke(['list', '--root', folder.path, '--state', state.path])
    expect(stdout).toMatch(/SERVING +USED \(UTC\) +SOURCE/)
    expect(stdout).toMatch(/refund +listed +[0-9a-f]{8} +1 x, [\d-]{10} [\d:]{5} /)
  })

  test.each(['light', 'dark'] as const)(
    'no view violates accessibility rules or logs to the console, %s',
    async colorScheme => {
      await using opened = await openPage(dev, { colorScheme })
      const { page } = opened
      const look = async (name: string): Promise<void> => {
        expect(await findBarriers(page), `${name}, ${colorScheme}`).toEqual([])
        if (process.env['SCREENSHOTS']) {
          await page.screenshot({ path: `${process.env['SCREENSHOTS']}/${name}-${colorScheme}.png` })
        }
      }
      await page.getByRole('option', { name: /broken zone/ }).waitFor()
      await look('skills')
      await page.getByRole('option', { name: /refund/ }).click()
      await page.getByRole('heading', { name: 'Refunds' }).waitFor()
      for (const tab of ['instructions', 'source', 'files', 'difference', 'why']) {
        await page.getByRole('tab', { name: tab }).click()
        await page.getByRole('tabpanel', { name: tab }).waitFor()
        await look(`refund-${tab}`)
      }
      await page.getByRole('button', { name: 'references/table.md' }).waitFor({ state: 'detached' })
      await page.getByRole('tab', { name: 'source' }).click()
      await page.getByRole('option', { name: /broken zone/ }).click()
      await page.locator('.source li.error').waitFor()
      await look('broken')
      await page.getByRole('link', { name: /Timeline/ }).click()
      await page.getByRole('heading', { name: 'Timeline' }).waitFor()
      await look('timeline')
      await page.getByRole('link', { name: /Sessions/ }).click()
      await page.getByText('Catalog:').click()
      await page.getByText('<available_skills>').waitFor()
      await page.getByRole('cell', { name: 'May I use the refund skill?' }).waitFor()
      await look('sessions')
      await page.keyboard.press('?')
      await page.getByRole('dialog', { name: 'Keys' }).waitFor()
      await look('help')
      expect(opened.trouble).toEqual([])
    },
  )

  test('a form built from the schema runs a command, reports wrong input, and runs the command again after a save', async () => {
    const text = (answer: string): string => `import { defineCommand } from 'skillstoke/command'
      export const greet = defineCommand({ name: 'greet', description: 'Greets somebody.',
        input: { type: 'object', properties: { name: { type: 'string', description: 'Who it is.' }, mood: { type: 'string', enum: ['glad', 'sad'] },
          times: { type: 'integer' }, loud: { type: 'boolean' }, more: { type: 'array' } }, required: ['name'], additionalProperties: false },
        async run(input, { progress, log }) { log(${JSON.stringify(HOSTILE)}); progress(1, 2, 'half'); return { said: '${answer} ' + input.name, ...input } } })\n`
    folder.writeSkill('greets')
    const file = folder.write('greets/scripts/greet.js', text('Hello'))
    await using opened = await openPage(dev)
    const { page } = opened
    await page.getByRole('option', { name: /greets/ }).click()
    await page.getByRole('tab', { name: 'run' }).click()
    await page.getByText('Greets somebody.').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByText('missing: "name"').waitFor()
    await page.getByRole('textbox', { name: /^name/ }).fill('Ada')
    await page.getByLabel('mood').selectOption('glad')
    await page.getByLabel('times').fill('3')
    await page.getByLabel('loud').selectOption('true')
    await page.getByLabel('more').fill('[1')
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByText('"more" is not valid JSON: [1').waitFor()
    await page.getByLabel('more').fill('[1, {"a": 2}]')
    await page.getByLabel('Run again on save').check()
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    const result = page.locator('pre.result')
    await result.waitFor()
    expect(JSON.parse((await result.textContent()) ?? '')).toEqual({
      said: 'Hello Ada',
      name: 'Ada',
      mood: 'glad',
      times: 3,
      loud: true,
      more: [1, { a: 2 }],
    })
    expect(await page.locator('pre.lines').textContent()).toContain('onerror')
    expect(await page.evaluate('window.pwned')).toBeUndefined()
    writeFileSync(file, text('Good day,'))
    await page.locator('pre.result', { hasText: 'Good day, Ada' }).waitFor()
    expect(await findBarriers(page)).toEqual([])
    folder.remove('greets')
    expect(opened.trouble).toEqual([])
  })

  test('a user can grant the capabilities that scripts declare, and revoke them', async () => {
    folder.write(
      'asks/SKILL.md',
      '---\nname: asks\ndescription: Asks.\nmetadata:\n  capabilities: net\n---\nBody.\n',
    )
    folder.write(
      'asks/scripts/a.js',
      "import { defineCommand } from 'skillstoke/command'\nexport const a = defineCommand({ name: 'a', description: 'Asks much.', run: () => 1 })\n",
    )
    await using opened = await openPage(dev)
    const { page } = opened
    await page.getByRole('option', { name: /asks/ }).click()
    await page.getByRole('tab', { name: 'run' }).click()
    await page.getByRole('button', { name: 'Grant net' }).click()
    await page.getByText('Asks much.').waitFor()
    await page.getByText('Granted: net.').waitFor()
    await page.getByRole('button', { name: 'Revoke net' }).click()
    await page.getByRole('button', { name: 'Grant net' }).waitFor()
    folder.remove('asks')
    expect(opened.trouble).toEqual([])
  })

  test('a narrow window shows either list or detail, with a way back and no horizontal scrolling', async () => {
    await using opened = await openPage(dev, { viewport: { width: 360, height: 640 } })
    const { page } = opened
    const isTooWide = async (): Promise<boolean> =>
      await page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth')
    await page.getByRole('option', { name: /refund/ }).click()
    await page.getByRole('heading', { name: 'Refunds' }).waitFor()
    expect(await page.getByRole('listbox').isVisible()).toBe(false)
    expect(await isTooWide()).toBe(false)
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('button', { name: 'All skills' }).click()
    await page.getByRole('listbox').waitFor()
    expect(await isTooWide()).toBe(false)
    await page.getByRole('link', { name: /Sessions/ }).click()
    await page.getByRole('region', { name: 'Turns' }).waitFor()
    expect(await isTooWide()).toBe(false)
    expect(await findBarriers(page)).toEqual([])
    expect(opened.trouble).toEqual([])
  })

  test('the keys / j k Enter d ? and Esc operate the whole page', async () => {
    await using opened = await openPage(dev)
    const { page } = opened
    const selected = page.locator('[role=option][aria-selected=true] .name')
    await page.getByRole('link', { name: /^Skills/ }).click()
    await page.keyboard.press('j')
    expect(await selected.textContent()).toBe('zone')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    expect(await selected.textContent()).toBe('shipping')
    await page.keyboard.press('k')
    expect(await selected.textContent()).toBe('refund')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'refund', exact: true }).waitFor()
    await page.keyboard.press('d')
    await page.getByRole('tab', { name: 'difference', selected: true }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('ship')
    await expect.poll(() => page.getByRole('option').count()).toBe(1)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'shipping', exact: true }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor({ state: 'hidden' })
    expect(opened.trouble).toEqual([])
  })

  test('the page shows files, opens linked files, and shows that a skill was removed', async () => {
    await using opened = await openPage(dev)
    const { page } = opened
    folder.writeSkill('gone')
    await page.getByRole('option', { name: /refund/ }).click()
    await page.getByRole('button', { name: 'the table' }).click()
    await page.getByRole('heading', { name: 'references/table.md' }).waitFor()
    await page.getByText('| a | b |').waitFor()
    await page.getByRole('button', { name: 'logo.png' }).click()
    await page.getByText('This file is not text. Its size is 3 B.').waitFor()
    await page.locator('pre.file-text').getByText('<0x').first().waitFor()
    await page.getByRole('option', { name: /gone/ }).click()
    await page.getByRole('heading', { name: 'gone', exact: true }).waitFor()
    const trouble = opened.trouble.length
    folder.remove('gone')
    await page.getByRole('option', { name: /gone/ }).waitFor({ state: 'detached' })
    await page.getByText('there is no skill "gone"').waitFor()
    // Ignore one message: a request for a removed skill gets a 404 answer, which browsers log.
    expect(opened.trouble.slice(0, trouble)).toEqual([])
  })

  test('the page shows the current error after each of several broken saves', async () => {
    await using opened = await openPage(dev)
    const { page } = opened
    folder.writeSkill('draft')
    await page.getByRole('option', { name: /ok draft/ }).click()
    folder.write('draft/SKILL.md', '---\nname: draft\ndescription: "open\n---\nFirst.\n')
    await page.locator('.source li.error', { hasText: '"open' }).waitFor()
    folder.write('draft/SKILL.md', '---\nname: draft\nlicense: x\ndescription: [open\n---\nSecond.\n')
    await page.locator('.source li.error', { hasText: '[open' }).waitFor()
    await page.getByText('Second.').waitFor()
    expect(await page.locator('.source li.error').count()).toBe(1)
    await page.getByRole('tab', { name: 'difference' }).click()
    await page.getByRole('tabpanel').getByText('+Second.').waitFor()
    folder.write('draft/SKILL.md', '---\nname: draft\ndescription: "again\n---\nThird.\n')
    await page.getByText('+Third.').waitFor()
    expect(opened.trouble).toEqual([])
    folder.remove('draft')
  })

  test('skill text is never rendered as markup, and its links to resources are never loaded', async () => {
    await using opened = await openPage(dev)
    const { page } = opened
    const body = [
      HOSTILE,
      '![picture](http://127.0.0.1:1/x.png)',
      '[click](javascript:window.pwned=1) [data](data:text/html,x) [out](https://example.org/)',
      '<a href="javascript:window.pwned=1">raw</a>',
      '```html\n<script>window.pwned=1</script>\n```',
    ].join('\n\n')
    folder.write(
      `hostile/SKILL.md`,
      `---\nname: hostile\ndescription: ${JSON.stringify(HOSTILE)}\n---\n${body}\n`,
    )
    folder.write(`hostile/${encodeURIComponent(HOSTILE).slice(0, 60)}.md`, HOSTILE)
    await page.getByRole('option', { name: /hostile/ }).click()
    // Waits for the instructions, because the description contains the same text and appears earlier.
    await page.locator('.markdown').getByText('out', { exact: true }).waitFor()
    expect(await page.locator('.markdown img, .markdown script, .lead img, .row img').count()).toBe(0)
    const links = await page
      .locator('.markdown a')
      .evaluateAll(all => all.map(each => each.getAttribute('href')))
    expect(links).toEqual(['https://example.org/'])
    await page.getByRole('tab', { name: 'source' }).click()
    await page.locator('.source').waitFor()
    await page.getByRole('tab', { name: 'files' }).click()
    await page.locator('.files button').nth(1).click()
    expect(await page.evaluate(() => 'pwned' in globalThis)).toBe(false)
    expect(opened.trouble).toEqual([])
    folder.remove('hostile')
  })

  test('without a token, the page shows no data and explains where to get the token', async () => {
    const context = await (browser as Browser).newContext()
    const page = await context.newPage()
    await page.goto(dev.url)
    await page.getByRole('alert').waitFor()
    expect(await page.getByRole('alert').textContent()).toContain('stoke dev')
    expect(await page.getByRole('listbox').count()).toBe(0)
    // If the page is already open, opening its address changes only the fragment, which contains the token.
    const giveAddress = async (address: string): Promise<void> => {
      const startedOver = page.waitForEvent('load')
      await page.evaluate(`location.assign(${JSON.stringify(address)})`)
      await startedOver
    }
    await giveAddress(`${dev.url}/#token=wrong`)
    await page.getByRole('alert').waitFor()
    expect(page.url()).not.toContain('wrong')
    await giveAddress(dev.pageUrl)
    await page.getByRole('listbox').waitFor()
    expect(page.url()).not.toContain(dev.token)
    await context.close()
  })

  test('the page reconnects after the dev server restarts with the same token', async () => {
    using own = new TemporaryFolder()
    using ownState = new TemporaryFolder()
    own.writeSkill('before')
    const options = {
      root: own.path,
      state: ownState.path,
      env: { SKILLSTOKE_TOKEN: 'a-token-for-this-test' },
    }
    const first = await startDev({ ...options, args: ['--no-agent'] })
    await using opened = await openPage(first)
    const { page } = opened
    await first[Symbol.asyncDispose]()
    await page.getByText('connection lost').waitFor()
    own.writeSkill('after')
    await using second = await startDev({
      ...options,
      args: ['--no-agent', '--port', new URL(first.url).port],
    })
    expect(second.url).toBe(first.url)
    await page.getByRole('option', { name: /after/ }).waitFor()
    await page.getByText('live', { exact: true }).waitFor()
  })

  test('the page removes the token from its address and still works after a reload', async () => {
    await using opened = await openPage(dev)
    const { page } = opened
    expect(page.url()).not.toContain(dev.token)
    await page.goto(`${dev.url}/#/skills/shipping`)
    await page.reload()
    await page.getByRole('heading', { name: 'shipping', exact: true }).waitFor()
    expect(opened.trouble).toEqual([])
  })
})

describe.skipIf(CHROMIUM === undefined)('the page with 1,000 skills', () => {
  test('only rows near the viewport are rendered, broken skills come first, and keys and filter reach every row', async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    for (let index = 0; index < 1_000; index++) folder.writeSkill(`skill-${index}`)
    await using dev = await startDev({ root: folder.path, state: state.path, args: ['--no-agent'] })
    await using opened = await openPage(dev)
    const { page } = opened
    await page.getByRole('option', { name: /skill-0 / }).waitFor()
    expect(await page.getByRole('option').count()).toBeLessThan(60)
    expect(await page.getByRole('option').first().getAttribute('aria-setsize')).toBe('1000')
    await page.getByRole('listbox').focus()
    for (let step = 0; step < 100; step++) await page.keyboard.press('ArrowDown')
    await page.locator('[role=option][aria-selected=true][aria-posinset="100"]').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('skill-999')
    await page.getByRole('option', { name: /skill-999/ }).waitFor()
    folder.write('skill-999/SKILL.md', skillText('skill-999', { description: 'Changed.' }))
    await page.getByText('Changed.').waitFor()
    await page.getByRole('searchbox').fill('')
    folder.write('skill-500/SKILL.md', 'no frontmatter')
    await page.getByText('1 broken').waitFor()
    await page.getByRole('listbox').focus()
    await page.keyboard.press('Home')
    await page.getByRole('option', { name: /broken skill-500/, selected: true }).waitFor()
    expect(await page.getByRole('option').first().textContent()).toContain('skill-500')
    expect(opened.trouble).toEqual([])
  })
})

describe.skipIf(CHROMIUM === undefined)('decisions on the page', () => {
  test('a user sees the changes of a pending revision, and can approve, roll back and disable with clicks', async () => {
    using folder = new TemporaryFolder()
    const repository = new GitRepository(folder.at('team.git'))
    repository.commit(
      { 'pdf/SKILL.md': skillText('pdf', { body: 'First.' }) },
      { author: 'Ada <ada@example.com>' },
    )
    await using dev = await startDev({
      state: folder.at('state'),
      args: ['--source', `file://${repository.directory}`, '--no-agent'],
    })
    await using opened = await openPage(dev)
    const { page } = opened
    const shots = process.env['SCREENSHOTS']
    await page.getByText('1 pending').waitFor()
    await page.getByRole('option', { name: /pdf/ }).click()
    await page.getByText('waits for a decision').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('tab', { name: 'instructions' }).click()
    await page.getByText('First.', { exact: true }).waitFor()
    repository.commit(
      { 'pdf/SKILL.md': skillText('pdf', { body: 'Second.' }), 'pdf/scripts/run.sh': 'x' },
      { author: 'Eve <eve@example.com>', message: 'A script' },
    )
    await dev.client.reload()
    await page.getByRole('list', { name: 'New capabilities' }).getByText('scripts/run.sh').waitFor()
    if (shots !== undefined) await page.screenshot({ path: `${shots}/pending.png` })
    await page.getByRole('tab', { name: 'difference' }).click()
    // Look only in the tab panel, because the decision panel above it shows the same difference.
    await page.getByRole('tabpanel').getByText('+Second.').waitFor()
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('tab', { name: 'history' }).click()
    await page.getByRole('cell', { name: 'Eve (commit)' }).waitFor()
    if (shots !== undefined) await page.screenshot({ path: `${shots}/history.png` })
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('button', { name: /Roll back/ }).click()
    await page.getByRole('button', { name: 'Unpin' }).waitFor()
    expect((await dev.client.skill('pdf')).body).toBe('First.')
    await page.getByRole('button', { name: 'Unpin' }).click()
    await page.getByRole('button', { name: 'Unpin' }).waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('button', { name: 'Enable' }).waitFor()
    expect((await dev.client.skills()).skills.map(({ status }) => status)).toEqual(['disabled'])
    await page.getByRole('link', { name: /Sources/ }).click()
    await page.getByText('changes wait for approval').waitFor()
    await page.getByText(`file://${repository.directory}`).waitFor()
    await page.getByText(repository.get('refs/heads/main').slice(0, 10), { exact: true }).waitFor()
    expect(await findBarriers(page)).toEqual([])
    expect(opened.trouble).toEqual([])

    if (shots !== undefined) await page.screenshot({ path: `${shots}/sources.png` })
  })
})

test('the API accepts valid decisions, refuses impossible decisions with a reason, and reports source health as metrics', async () => {
  using folder = new TemporaryFolder()
  const repository = new GitRepository(folder.at('team.git'))
  repository.commit({ 'pdf/SKILL.md': skillText('pdf', { body: 'First.' }) })
  folder.writeSkill('own/maps')
  await using dev = await startDev({
    root: folder.at('own'),
    state: folder.at('state'),
    args: ['--source', `file://${repository.directory}`, '--no-agent'],
  })
  const { client } = dev
  await expect(
    client.decide({ verb: 'approve', skill: 'pdf', revision: '0'.repeat(64) }),
  ).rejects.toMatchObject({
    status: 409,
    code: 'CONFLICT',
  })
  const { revision } = (await client.skills()).skills.find(({ name }) => name === 'pdf') ?? {}
  if (typeof revision !== 'string') throw new Error('pdf waits at a revision')
  const short = { verb: 'approve', skill: 'pdf', revision: revision.slice(7, 15) } as const
  await expect(client.decide(short)).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining(`use ${revision}`),
  })
  for (const verb of ['approve', 'reject', 'pin'] as const)
    await expect(client.decide({ verb, skill: 'pdf' })).rejects.toMatchObject({ status: 400 })
  const capabilities = ['net']
  await expect(client.grant({ verb: 'grant', skill: 'maps', capabilities })).rejects.toMatchObject({
    status: 400,
  })
  await expect(client.decide({ verb: 'approve', skill: 'nope', revision })).rejects.toMatchObject({
    status: 404,
  })
  await expect(client.decide({ verb: 'bless' as 'approve', skill: 'pdf' })).rejects.toMatchObject({
    status: 400,
  })
  await expect(client.rollback('maps', revision)).rejects.toMatchObject({ status: 404 })
  expect(await client.decide({ verb: 'approve', skill: 'team/pdf', revision })).toMatchObject({
    status: 'ok',
  })
  expect((await client.history('team/pdf')).records.map(({ cause }) => cause)).toEqual(['approve', 'fetch'])
  const get = async (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    await fetch(`${dev.url}${path}`, { headers })
  expect((await get('/metrics')).status).toBe(401)
  const response = await get('/metrics', { authorization: `Bearer ${dev.token}` })
  const metrics = await response.text()
  for (const line of [
    'skillstoke_skills{status="ok"} 2',
    'skillstoke_source_up{source="team"} 1',
    'skillstoke_source_mode{source="team",mode="polling"} 1',
    'skillstoke_source_mode{source="root-1",mode="events"} 1',
  ])
    expect(metrics).toContain(line)
  const [pages, noToken] = [await get('/api/skills/pdf/history'), await get('/api/decide')]
  expect([pages.status, noToken.status]).toEqual([401, 401])
})
