import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CHROMIUM, launchBrowser } from './fixtures/browser.ts'
import { type DevProcess, startDev } from './fixtures/dev.ts'
import { GitRepository } from './fixtures/git-repository.ts'
import {
  findBarriers,
  goTo,
  isTooWide,
  type OpenPage,
  openPage as openPageIn,
  rowOf,
} from './fixtures/open-page.ts'
import { skillText, TemporaryFolder } from './fixtures/skill-folder.ts'
import { BROKEN_REFUND, changeTeam, writeSupportDesk } from './fixtures/support-desk.ts'

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

/** Approves everything that waits. */
async function approveAll({ client }: DevProcess): Promise<void> {
  for (const { target, revision } of (await client.pending()).skills)
    await client.decide({ verb: 'approve', skill: target, revision: revision ?? '' })
}

describe.skipIf(CHROMIUM === undefined)('the page of a team', () => {
  const folder = new TemporaryFolder()
  let dev: DevProcess

  beforeAll(async () => {
    const { root, team } = writeSupportDesk(folder.path)
    dev = await startDev({
      root,
      state: folder.at('state'),
      args: [
        // The catalog has no room for some of the skills.
        '--config',
        folder.write('skillstoke.json', '{"catalog": {"maxTokens": 1400}}'),
        '--source',
        `file://${team}`,
        '--root',
        folder.at('missing'),
        '--ask',
        'Use the skill "refund".',
      ],
    })
    await approveAll(dev)
    await dev.printed(/agent: By the skill refund/)
    changeTeam(team)
    writeFileSync(join(root, 'refund/SKILL.md'), BROKEN_REFUND)
    await dev.client.reload({ timeoutMs: 60_000 })
  })
  afterAll(async () => {
    await dev[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  const VIEWS = [
    ['overview', '/', 'Needs attention'],
    ['list', '/skills', 'address-change'],
    ['skill', '/skills/refund', 'What agents read'],
    ['hidden', '/skills/grill-me', 'Only people invoke it'],
    ['unlisted', '/skills/winter-tyres', 'Unlisted: the catalog is full'],
    ['tests', '/skills/refund/tests', 'Which message loads which skill'],
    ['changes', '/skills/refund/changes', 'A save is broken'],
    ['files', '/skills/parcels/files', 'Run scripts/price.py'],
    ['approval', '/skills/acme%2Ftdd', 'that it could not do before'],
    ['agents', '/agents', 'Demo agent'],
    ['conversation', '/agents/dev', 'Tokens and fingerprints'],
    ['all-changes', '/changes', 'newest first'],
  ] as const

  test.each(
    (['light', 'dark'] as const).flatMap(theme => [1440, 1024, 380].map(width => [theme, width] as const)),
  )(
    'no view violates accessibility rules, needs sideways scrolling or logs to the console: %s, %i pixels',
    async (colorScheme, width) => {
      await using opened = await openPage(dev, { colorScheme, viewport: { width, height: 900 } })
      const { page } = opened
      for (const [name, path, text] of VIEWS) {
        await goTo(page, path)
        await page.getByText(text).first().waitFor()
        const isListOnly = name === 'list' && width === 380
        if (!isListOnly) await page.getByText('Loading …').waitFor({ state: 'hidden' })
        expect(await findBarriers(page), name).toEqual([])
        expect(await isTooWide(page), name).toBe(false)
      }
      await page.keyboard.press('?')
      await page.getByRole('dialog', { name: 'Keys' }).waitFor()
      expect(await findBarriers(page), 'keys').toEqual([])
      await page.keyboard.press('Escape')
      await page.keyboard.press('/')
      await page.getByRole('combobox', { name: 'Find or do' }).fill('ship')
      await page.getByRole('option', { name: /shipping/ }).waitFor()
      expect(await findBarriers(page), 'find').toEqual([])
      expect(opened.trouble).toEqual([])
    },
  )

  test('the overview says what needs a person, and each line leads to the place where it is mended', async () => {
    await using opened = await openPage(dev)
    const { page } = opened
    const main = page.getByRole('main')
    await main.getByRole('heading', { name: /^\d+ things need you$/ }).waitFor()
    const lines = main.getByRole('region', { name: 'Needs attention' }).getByRole('listitem')
    await lines.filter({ hasText: 'tdd waits for approval, and could do more than before' }).waitFor()
    expect(await lines.first().textContent()).toMatch(
      /refund is broken .*Line 3: .*The text before it stays live\./,
    )
    await lines.filter({ hasText: 'changelog and release-notes collide' }).waitFor()
    await main.getByText('Not there. It is looked for again.').waitFor()
    await main.getByText('changes wait for approval').waitFor()
    await lines.filter({ hasText: 'tdd' }).getByRole('link', { name: 'Review' }).click()
    await page.getByRole('heading', { name: 'tdd' }).waitFor()
    expect(await page.title()).toMatch(/^tdd \(waiting\) · .* · Skillstoke$/)
    await page.goBack()
    await main.getByRole('link', { name: /\d unlisted/ }).click()
    await rowOf(page, /winter-tyres/).waitFor()
    expect(page.url()).toContain('show=unlisted')
    await page.reload()
    await rowOf(page, /winter-tyres/).waitFor()
    expect(await rowOf(page, /refund/).count()).toBe(0)
    expect(opened.trouble).toEqual([])
  })

  test('the line below a name says why the model sees a skill or not', async () => {
    await using opened = await openPage(dev)
    const { page } = opened
    await goTo(page, '/skills/grill-me')
    await page.getByText('Only people invoke it, with /grill-me. It costs no tokens.').waitFor()
    await goTo(page, '/skills/winter-tyres')
    await page.getByText(/^Unlisted: the catalog is full; needs \d+ tokens, \d+ are left\./).waitFor()
    await goTo(page, '/skills/shipping')
    await page.getByText(/^Listed for the model \(\d+ tokens; its text is \d+ more\)/).waitFor()
    expect(opened.trouble).toEqual([])
  })

  test('keys move through skills, tabs and views, and can be turned off', async () => {
    await using opened = await openPage(dev)
    const { page } = opened
    const { keyboard } = page
    const title = page.getByRole('main').locator('.detail h1')
    await keyboard.press('g')
    await keyboard.press('s')
    await page.getByRole('heading', { name: 'refund', exact: true }).waitFor()
    await keyboard.press('j')
    await expect.poll(() => title.textContent()).toBe('pdf-forms')
    await keyboard.press('k')
    await page.getByRole('heading', { name: 'refund', exact: true }).waitFor()
    await keyboard.press('3')
    await page.getByRole('tab', { name: /Changes/, selected: true }).waitFor()
    expect(page.url()).toContain('/changes')
    await page.getByRole('tab', { name: /Changes/ }).focus()
    await keyboard.press('ArrowRight')
    await page.getByRole('tab', { name: /Files/, selected: true }).waitFor()
    await keyboard.press('Home')
    await page.getByRole('tab', { name: /^Skill/, selected: true }).waitFor()
    await keyboard.press('?')
    await page.getByRole('checkbox', { name: 'Use single keys' }).uncheck()
    await keyboard.press('Escape')
    await keyboard.press('t')
    await page.getByRole('tab', { name: /^Skill/, selected: true }).waitFor()
    expect(opened.trouble).toEqual([])
  })

  test('the list is sorted and filtered in the address, and its width follows the arrow keys', async () => {
    await using opened = await openPage(dev)
    const { page } = opened
    await goTo(page, '/skills')
    await page.getByRole('combobox', { name: 'Sort' }).selectOption('name')
    await rowOf(page, /^address-change/).waitFor()
    expect(page.url()).toContain('sort=name')
    expect(await page.locator('.rows li').first().textContent()).toContain('address-change')
    await page.getByRole('textbox', { name: 'Filter skills' }).fill('gift-cards')
    await expect.poll(() => page.locator('.rows .row').count()).toBe(1)
    expect(page.url()).toContain('q=gift-cards')
    const grip = page.getByRole('separator', { name: 'Width of the list' })
    await grip.focus()
    await page.keyboard.press('ArrowRight')
    expect(await grip.getAttribute('aria-valuenow')).toBe('360')
    expect((await page.getByRole('region', { name: 'List of skills' }).boundingBox())?.width).toBe(360)
    expect(opened.trouble).toEqual([])
  })
})

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

  test('a loaded skill says when it was used, and the agents say who has it loaded', async () => {
    await using opened = await openPage(dev)
    const { page } = opened
    await goTo(page, '/skills/refund')
    await page.getByText(/Loaded 1 time, last /).waitFor()
    await goTo(page, '/agents')
    const row = page.getByRole('row', { name: /May I use the refund skill/ })
    await row.getByRole('link', { name: 'refund', exact: true }).waitFor()
    await row.getByText('kept').waitFor()
    await row.getByRole('link', { name: 'May I use the refund skill?' }).click()
    await page.getByText('What it sees').click()
    await page.getByText('<available_skills>').waitFor()
    await page.getByText('Tokens and fingerprints').click()
    await page
      .getByText(/unchanged/)
      .first()
      .waitFor()
    expect(await findBarriers(page)).toEqual([])
    expect(opened.trouble).toEqual([])
  })

  test('a text is edited in place: findings follow the typing, a broken text is not live, and a save can be undone', async () => {
    folder.writeSkill('edited', { body: 'First.' })
    await using opened = await openPage(dev)
    const { page } = opened
    await goTo(page, '/skills/edited')
    await page.getByRole('button', { name: /^Edit/ }).click()
    const editor = page.getByRole('textbox', { name: 'SKILL.md of edited' })
    await editor.waitFor()
    await editor.press('Control+Home')
    await page.keyboard.type('Oops.\n')
    await page.getByText(/^Broken at line \d+\. Saving keeps the last good text live\.$/).waitFor()
    // Leaving the skill loses nothing.
    await goTo(page, '/skills/refund')
    await page.getByRole('heading', { name: 'refund', exact: true }).waitFor()
    await goTo(page, '/skills/edited')
    await editor.locator('.cm-line').getByText('Oops.').waitFor()
    await page.getByRole('button', { name: 'Undo edits' }).click()
    await page.keyboard.press('e')
    await editor.press('Control+End')
    await page.keyboard.type('Second.')
    expect(await findBarriers(page)).toEqual([])
    await page.keyboard.press('Control+s')
    await page.getByText('Saved. edited is live.').waitFor()
    await page.locator('.prose').getByText('Second.').waitFor()
    expect(readFileSync(folder.at('edited/SKILL.md'), 'utf8')).toContain('First.\nSecond.')
    await page.getByRole('button', { name: 'Undo', exact: true }).click()
    await expect.poll(() => readFileSync(folder.at('edited/SKILL.md'), 'utf8')).not.toContain('Second.')
    expect(opened.trouble).toEqual([])
    folder.remove('edited')
  })

  test('a save is refused if the file changed on the disk meanwhile, and the edit is kept', async () => {
    folder.writeSkill('refused', { body: 'First.' })
    await using opened = await openPage(dev)
    const { page } = opened
    await goTo(page, '/skills/refused')
    await page.getByRole('button', { name: /^Edit/ }).click()
    const editor = page.getByRole('textbox', { name: 'SKILL.md of refused' })
    await editor.press('Control+End')
    await page.keyboard.type('Mine.')
    folder.writeSkill('refused', { body: 'Theirs.' })
    await page.getByText('The file has changed on the disk since this edit began.').waitFor()
    await page.getByRole('button', { name: /^Save/ }).click()
    await page.getByRole('alert').getByText('changed in the meantime').waitFor()
    await editor.getByText('Mine.').waitFor()
    expect(readFileSync(folder.at('refused/SKILL.md'), 'utf8')).toContain('Theirs.')
    await page.getByRole('button', { name: 'Drop my edit' }).click()
    await page.locator('.src').getByText('Theirs.').waitFor()
    expect(opened.trouble.filter(each => !each.includes('409'))).toEqual([])
    folder.remove('refused')
  })

  test('a fix is one click, and each later error replaces the one before', async () => {
    await using opened = await openPage(dev)
    const { page } = opened
    folder.write(
      'fixed/SKILL.md',
      '---\nname: fixed\ndescription: Answers: any question about drafts. Use when asked.\n---\nBody.\n',
    )
    await goTo(page, '/skills/fixed')
    await page.getByRole('note').getByRole('button', { name: 'Fix' }).click()
    await page.getByText(/^Corrected fixed: /).waitFor()
    expect(readFileSync(folder.at('fixed/SKILL.md'), 'utf8')).toContain('description: "Answers: any')
    folder.write('fixed/SKILL.md', '---\nname: fixed\ndescription: "open\n---\nFirst.\n')
    await page.locator('.src .finding', { hasText: 'description' }).waitFor()
    await page.getByText('The newest save is broken at line 3').waitFor()
    folder.write('fixed/SKILL.md', '---\nname: fixed\nlicense: x\ndescription: [open\n---\nSecond.\n')
    await page.getByText('The newest save is broken at line 4').waitFor()
    await page.locator('.src').getByText('Second.').waitFor()
    expect(await page.locator('.src .f-error').count()).toBe(1)
    await page.getByRole('tab', { name: /Changes/ }).click()
    await page.getByRole('button', { name: /A save is broken in line 4/ }).click()
    await page.locator('.opened').getByText('Second.').waitFor()
    expect(opened.trouble).toEqual([])
    folder.remove('fixed')
  })

  test('an earlier text is restored after a preview, also from a broken text, and Undo brings the other back', async () => {
    await using opened = await openPage(dev)
    const { page } = opened
    folder.writeSkill('restored', { body: 'Monday.' })
    await dev.client.reload()
    folder.writeSkill('restored', { body: 'Tuesday.' })
    await dev.client.reload()
    await goTo(page, '/skills/restored/changes')
    await page.getByRole('button', { name: /^Restore the text of/ }).click()
    const dialog = page.getByRole('dialog')
    await dialog
      .locator('del', { hasText: 'Tuesday' })
      .or(dialog.locator('.x', { hasText: 'Tuesday' }))
      .first()
      .waitFor()
    expect(await page.evaluate('document.activeElement?.textContent')).toBe('Cancel')
    expect(await findBarriers(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Restore', exact: true }).click()
    await page.getByText(/^Restored the text of/).waitFor()
    expect(readFileSync(folder.at('restored/SKILL.md'), 'utf8')).toContain('Monday.')
    const broken = '---\nname: restored\ndescription: "open\n---\nWednesday.\n'
    folder.write('restored/SKILL.md', broken)
    await page.getByRole('button', { name: /^Go back to/ }).click()
    await dialog.getByRole('button', { name: 'Restore', exact: true }).click()
    await expect.poll(() => readFileSync(folder.at('restored/SKILL.md'), 'utf8')).toContain('Monday.')
    await page.getByRole('button', { name: 'Undo', exact: true }).click()
    await expect.poll(() => readFileSync(folder.at('restored/SKILL.md'), 'utf8')).toBe(broken)
    expect(opened.trouble).toEqual([])
    folder.remove('restored')
  })

  test('two texts are compared, older on the left', async () => {
    await using opened = await openPage(dev)
    const { page } = opened
    for (const body of ['One.', 'Two.', 'Three.']) {
      folder.writeSkill('compared', { body })
      await dev.client.reload()
    }
    await goTo(page, '/skills/compared/changes')
    const boxes = page.getByRole('checkbox', { name: /^Compare/ })
    await expect.poll(() => boxes.count()).toBe(3)
    // The text that was seen first is no change.
    await page.getByText(/^2 changes since \d\d:\d\d\./).waitFor()
    await boxes.nth(0).check()
    await boxes.nth(2).check()
    await page.getByRole('button', { name: 'Compare two' }).click()
    const dialog = page.getByRole('dialog', { name: 'Two texts of compared' })
    await dialog.locator('.x', { hasText: 'One.' }).waitFor()
    await dialog.locator('.a', { hasText: 'Three.' }).waitFor()
    expect(opened.trouble).toEqual([])
    folder.remove('compared')
  })

  test('without a clipboard, the page shows the text to copy instead of saying that it was copied', async () => {
    await using opened = await openPage(dev)
    const { page } = opened
    await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }))
    await goTo(page, '/skills/shipping')
    const menu = page.getByLabel('More actions')
    await menu.click()
    await page.getByRole('button', { name: 'Copy the path' }).click()
    await page
      .getByRole('alert')
      .getByText(`The browser refuses to copy. Copy it here: ${folder.at('shipping')}`)
      .waitFor()
    await menu.click()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Copy the path' }).waitFor({ state: 'hidden' })
    expect(opened.trouble).toEqual([])
  })

  test('a new skill is created, disabled and removed, and each removal can be undone', async () => {
    await using opened = await openPage(dev)
    const { page } = opened
    await page.keyboard.press('c')
    const dialog = page.getByRole('dialog', { name: 'New skill' })
    await dialog.getByRole('textbox', { name: /^Name/ }).fill('VAT Report')
    await dialog
      .getByRole('textbox', { name: /^What it does/ })
      .fill('Writes VAT reports. Use when asked for VAT.')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await dialog.getByRole('alert').getByText('vat-report').waitFor()
    await dialog.getByRole('textbox', { name: /^Name/ }).fill('vat-report')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { name: 'vat-report', exact: true }).waitFor()
    expect(existsSync(folder.at('vat-report/evals/tests.yaml'))).toBe(true)
    folder.write('vat-report/.env', 'A=1\n')
    const choose = async (label: string): Promise<void> => {
      await page.getByLabel('More actions').click()
      await page.getByRole('button', { name: label }).click()
    }
    await choose('Disable for all agents…')
    await page.getByRole('dialog').getByRole('button', { name: 'Disable', exact: true }).click()
    await page.getByText('Disabled vat-report.').waitFor()
    await page.getByText('No agent sees vat-report.').waitFor()
    await page.getByRole('button', { name: 'Undo', exact: true }).click()
    await page.getByText('No agent sees vat-report.').waitFor({ state: 'detached' })
    await choose('Remove the folder…')
    await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click()
    const removed = page.getByText(/^Removed vat-report\. Its folder is now /)
    await removed.waitFor()
    const [, trash = ''] = /is now (.*)\.$/.exec((await removed.textContent()) ?? '') ?? []
    expect([existsSync(folder.at('vat-report')), existsSync(join(trash, '.env'))]).toEqual([false, true])
    await page.getByRole('button', { name: 'Undo', exact: true }).click()
    await rowOf(page, /vat-report/).waitFor()
    expect(readFileSync(folder.at('vat-report/.env'), 'utf8')).toBe('A=1\n')
    // Late findings change the row, so the page may ask for a skill that is already gone.
    const expected =
      /^400 of .*\/api\/new$|^404 of .*\bvat-report\b|^error: Failed to load resource:.* 40[04] /
    expect(opened.trouble.filter(each => !expected.test(each))).toEqual([])
    folder.remove('vat-report')
    folder.remove('.trash')
  })

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
    await goTo(page, '/skills/greets/files')
    await page.getByText('Greets somebody.').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByText('missing: "name"').waitFor()
    await page.getByRole('textbox', { name: /^name/ }).fill('Ada')
    await page.getByLabel('mood').selectOption('glad')
    await page.getByLabel('times').fill('3')
    await page.getByLabel('loud').selectOption('true')
    await page.getByRole('textbox', { name: /^more/ }).fill('[1')
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByText('"more" is not valid JSON: [1').waitFor()
    await page.getByRole('textbox', { name: /^more/ }).fill('[1, {"a": 2}]')
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
    await goTo(page, '/skills/asks/files')
    await page.getByRole('button', { name: 'Grant net' }).click()
    await page.getByText('Asks much.').waitFor()
    await page.getByText('Granted: net', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Revoke net' }).click()
    await page.getByRole('button', { name: 'Grant net' }).waitFor()
    folder.remove('asks')
    expect(opened.trouble).toEqual([])
  })

  test('the page shows files, opens linked files, and shows that a skill was removed', async () => {
    await using opened = await openPage(dev)
    const { page } = opened
    folder.writeSkill('gone')
    await goTo(page, '/skills/refund')
    await page.getByRole('button', { name: 'the table' }).click()
    await page.getByRole('heading', { name: 'references/table.md' }).waitFor()
    await page.getByText('| a | b |').waitFor()
    await page.getByRole('link', { name: 'logo.png' }).click()
    await page.getByText('This file is not text. Its size is 3 B.').waitFor()
    await page.locator('pre.file-text').getByText('<0x').first().waitFor()
    await rowOf(page, /gone/).click()
    await page.getByRole('heading', { name: 'gone', exact: true }).waitFor()
    folder.remove('gone')
    await rowOf(page, /gone/).waitFor({ state: 'detached' })
    await page.getByText('There is no skill “gone” any more.').waitFor()
    expect(opened.trouble.filter(each => !each.includes('404'))).toEqual([])
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
    await goTo(page, '/skills/hostile')
    await page.locator('.prose').getByText('out', { exact: true }).waitFor()
    expect(await page.locator('.prose img, .prose script, .desc img, .row img').count()).toBe(0)
    const links = await page
      .locator('.prose a')
      .evaluateAll(all => all.map(each => each.getAttribute('href')))
    expect(links).toEqual(['https://example.org/'])
    await page.keyboard.press('e')
    await page.getByRole('textbox', { name: 'SKILL.md of hostile' }).waitFor()
    await goTo(page, '/skills/hostile/files')
    await page
      .getByRole('link', { name: /onerror/ })
      .or(page.getByRole('link', { name: /img/ }))
      .first()
      .click()
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
    expect(await page.getByRole('navigation').count()).toBe(0)
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
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
    expect(page.url()).not.toContain(dev.token)
    await context.close()
  })

  test('a stopped server says so: reading goes on, changing waits, and the page goes on by itself', async () => {
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
    await goTo(page, '/skills/before')
    await page.getByLabel('More actions').click()
    await page.getByRole('button', { name: 'Disable for all agents…' }).click()
    const question = page.getByRole('dialog', { name: /before/ })
    const confirm = question.getByRole('button', { name: 'Disable', exact: true })
    expect(await confirm.isEnabled()).toBe(true)
    await first[Symbol.asyncDispose]()
    await expect.poll(() => confirm.isDisabled()).toBe(true)
    await question.getByRole('button', { name: 'Cancel' }).click()
    await goTo(page, '/')
    const gone = page.getByRole('alert').filter({ hasText: 'Skillstoke stopped at' })
    await gone.getByText(new RegExp(`dev .*${own.path.split('/').at(-1)}`)).waitFor()
    await page.getByRole('heading', { name: /^As of \d\d:\d\d$/ }).waitFor()
    expect(await findBarriers(page)).toEqual([])
    await goTo(page, '/skills')
    await rowOf(page, /before/).waitFor()
    expect(await page.getByRole('button', { name: 'New skill' }).isDisabled()).toBe(true)
    own.writeSkill('after')
    await using second = await startDev({
      ...options,
      args: ['--no-agent', '--port', new URL(first.url).port],
    })
    expect(second.url).toBe(first.url)
    await rowOf(page, /after/).waitFor()
    await gone.waitFor({ state: 'detached' })
    expect(await page.getByRole('button', { name: 'New skill' }).isDisabled()).toBe(false)
  })

  test('a server without a folder says at once that it cannot create a skill', async () => {
    using own = new TemporaryFolder()
    const repository = new GitRepository(own.at('team.git'))
    repository.commit({ 'pdf/SKILL.md': skillText('pdf') })
    const args = ['--source', `file://${own.at('team.git')}`, '--no-agent']
    await using sourceOnly = await startDev({ state: own.at('state'), args })
    await using opened = await openPage(sourceOnly)
    const { page } = opened
    await page.keyboard.press('c')
    const dialog = page.getByRole('dialog', { name: 'New skill' })
    await dialog.getByRole('alert').getByText('This server follows no folder of yours.').waitFor()
    expect(await dialog.getByRole('button', { name: 'Create' }).isDisabled()).toBe(true)
    expect(opened.trouble).toEqual([])
  })

  test('the page removes the token from its address and still works after a reload', async () => {
    await using opened = await openPage(dev)
    const { page } = opened
    expect(page.url()).not.toContain(dev.token)
    await page.goto(`${dev.url}/#/skills/shipping/tests`)
    await page.reload()
    await page.getByRole('tab', { name: /Tests/, selected: true }).waitFor()
    await page.getByRole('heading', { name: 'shipping', exact: true }).waitFor()
    expect(opened.trouble).toEqual([])
  })
})

describe.skipIf(CHROMIUM === undefined)('the page with 1,000 skills', () => {
  test('only rows near the visible part are rendered, broken skills come first, and keys and filter reach every row', async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    for (let index = 0; index < 1_000; index++) folder.writeSkill(`skill-${index}`)
    await using dev = await startDev({ root: folder.path, state: state.path, args: ['--no-agent'] })
    await using opened = await openPage(dev)
    const { page } = opened
    await page.getByRole('heading', { name: 'Nothing needs you' }).waitFor()
    await page.getByText('Try it: change a sentence and save').waitFor()
    await goTo(page, '/skills')
    await rowOf(page, /^skill-0 /).waitFor()
    expect(await page.locator('.rows .row').count()).toBeLessThan(60)
    // The rows, and the titles of two groups.
    expect(await page.locator('.rows li').first().getAttribute('aria-setsize')).toBe('1002')
    for (let step = 0; step < 100; step++) await page.keyboard.press('j')
    const names = Array.from({ length: 1_000 }, (_, index) => `skill-${index}`).sort()
    await page.getByRole('heading', { name: names[100] ?? '', exact: true }).waitFor()
    await page.locator('.rows [aria-current=page]', { hasText: names[100] ?? '' }).waitFor()
    await page.getByRole('textbox', { name: 'Filter skills' }).fill('skill-999')
    await rowOf(page, /skill-999/).click()
    folder.write('skill-999/SKILL.md', skillText('skill-999', { description: 'Changed.' }))
    await page.getByText('Changed.').first().waitFor()
    await page.getByRole('textbox', { name: 'Filter skills' }).fill('')
    folder.write('skill-500/SKILL.md', 'no frontmatter')
    await rowOf(page, /skill-500 broken/)
      .or(page.getByText('There is no skill'))
      .first()
      .waitFor()
    await page.locator('.rows').evaluate(each => each.scrollTo(0, 0))
    expect(await page.locator('.rows .row').first().textContent()).toContain('skill-500')
    expect(opened.trouble).toEqual([])
  })
})

describe.skipIf(CHROMIUM === undefined)('decisions on the page', () => {
  test('a user sees what a waiting text may do more, approves and rejects with keys, and takes decisions back', async () => {
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
    const statusOf = async (): Promise<string | undefined> => (await dev.client.skills()).skills[0]?.status
    await page.getByText('pdf waits for approval, it is new').waitFor()
    await page.getByRole('link', { name: 'Review' }).click()
    await page.getByRole('region', { name: 'Decision' }).waitFor()
    expect(await findBarriers(page)).toEqual([])
    await page.keyboard.press('a')
    await page.getByText(/^Approved pdf\./).waitFor()
    repository.commit(
      {
        'pdf/SKILL.md': skillText('pdf', { body: 'Second.' }),
        'pdf/scripts/run.sh': 'curl https://ci.acme.example/x -H "$CI_TOKEN"\n',
      },
      { author: 'Eve <eve@example.com>', message: 'A script' },
    )
    await dev.client.reload()
    await goTo(page, '/skills/pdf')
    await page.getByText('Eve changed it in team').waitFor()
    const grown = page.getByRole('region', {
      name: 'If you approve, it can do 3 things that it could not do before',
    })
    for (const text of [
      'the script "scripts/run.sh" appears',
      'Mentions the host ci.acme.example',
      'Mentions the secret CI_TOKEN',
    ])
      await grown.getByText(text).waitFor()
    // The header and the list describe the live text.
    await page.getByRole('link', { name: 'See the live text' }).click()
    await page.locator('.prose').getByText('First.').waitFor()
    await page.getByRole('link', { name: 'Review the change' }).click()
    await page.getByText('0 of 2 files seen').waitFor()
    await page.keyboard.press('a')
    const unseen = page.getByRole('dialog', { name: 'You have not seen scripts/run.sh' })
    await unseen.getByRole('button', { name: 'Cancel' }).click()
    expect(await statusOf()).toBe('pending')
    await page.getByRole('checkbox', { name: 'Seen' }).nth(1).check()
    await page.getByText('1 of 2 files seen').waitFor()
    await page.keyboard.press('r')
    await page.getByRole('textbox', { name: /^Reason/ }).fill('The address should be a setting.')
    expect(await findBarriers(page)).toEqual([])
    await page.keyboard.press('Control+Enter')
    await page.getByText(/^Rejected pdf\./).waitFor()
    expect(await statusOf()).toBe('rejected')
    expect((await dev.client.history('pdf')).records[0]).toMatchObject({
      cause: 'reject',
      note: 'The address should be a setting.',
    })
    await page.getByRole('button', { name: 'Undo', exact: true }).click()
    await expect.poll(statusOf).toBe('pending')
    await goTo(page, '/skills/pdf')
    await page.getByRole('checkbox', { name: 'Seen' }).nth(1).check()
    await page.keyboard.press('a')
    await page.getByText(/^Approved pdf\./).waitFor()
    expect((await dev.client.skill('pdf')).body).toBe('Second.')
    await page.getByRole('button', { name: 'Undo', exact: true }).click()
    await expect.poll(statusOf).toBe('pending')
    expect((await dev.client.skill('pdf')).body).toBe('First.')
    expect(opened.trouble).toEqual([])
  })

  test('a source that is read-only is restored by keeping a text, and a kept text can follow its source again', async () => {
    using folder = new TemporaryFolder()
    const repository = new GitRepository(folder.at('team.git'))
    await using dev = await startDev({
      state: folder.at('state'),
      args: ['--source', `file://${repository.directory}`, '--no-agent'],
    })
    for (const body of ['First.', 'Second.']) {
      repository.commit({ 'pdf/SKILL.md': skillText('pdf', { body }) })
      await dev.client.reload()
      await approveAll(dev)
    }
    await using opened = await openPage(dev, { viewport: { width: 380, height: 800 } })
    const { page } = opened
    await goTo(page, '/skills/pdf/changes')
    await page.getByRole('button', { name: /^Restore the text of/ }).click()
    await page.getByText('The skill stays at this text, whatever its source sends.').waitFor()
    expect(await isTooWide(page)).toBe(false)
    await page.getByRole('dialog').getByRole('button', { name: 'Restore', exact: true }).click()
    await page.getByText(/^Restored the text of/).waitFor()
    expect((await dev.client.skill('pdf')).body).toBe('First.')
    await page.locator('.badge', { hasText: 'kept' }).waitFor()
    await page.getByLabel('More actions').click()
    await page.getByRole('button', { name: 'Follow newer texts again…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Follow', exact: true }).click()
    await page.getByText('pdf follows newer texts again.').waitFor()
    expect((await dev.client.skill('pdf')).body).toBe('Second.')
    expect(opened.trouble).toEqual([])
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
