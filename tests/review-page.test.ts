import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CHROMIUM, launchBrowser } from './fixtures/browser.ts'
import { startDev } from './fixtures/dev.ts'
import { GitRepository } from './fixtures/git-repository.ts'
import { findBarriers, isTooWide, openPage } from './fixtures/open-page.ts'
import { skillText, TemporaryFolder } from './fixtures/skill-folder.ts'

let browser: Browser

beforeAll(async () => {
  if (CHROMIUM !== undefined) browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
})

describe.skipIf(CHROMIUM === undefined)('reviewing on the page', () => {
  const shots = process.env['SCREENSHOTS']

  test('T46: Approve stays disabled until the difference is shown and hidden text is confirmed', async () => {
    using folder = new TemporaryFolder()
    const repository = new GitRepository(folder.at('team.git'))
    repository.commit({ 'pdf/SKILL.md': skillText('pdf', { body: 'Be kind.\u{e0073}\u200b ✅️' }) })
    await using dev = await startDev({
      state: folder.at('state'),
      args: ['--source', `file://${repository.directory}`, '--no-agent'],
    })
    await using opened = await openPage(browser, dev)
    const { page } = opened
    const held = Promise.withResolvers<void>()
    await page.route('**/diff', async route => {
      await held.promise
      await route.continue()
    })
    await page.getByRole('option', { name: /pdf/ }).click()
    const approve = page.getByRole('button', { name: 'Approve' })
    await page.getByText('Loading what would go live').waitFor()
    expect(await approve.isDisabled()).toBe(true)
    held.resolve()
    await page
      .getByRole('region', { name: 'What would go live' })
      .getByText('+Be kind.<U+E0073><U+200B> ✅️')
      .waitFor()
    expect(await approve.isDisabled()).toBe(true)
    expect(await findBarriers(page)).toEqual([])
    if (shots !== undefined) await page.screenshot({ path: `${shots}/hidden.png` })
    // The page also shows the text of the pending revision, which is not served.
    await page.getByText('This folder is not served, because its status is pending.').waitFor()
    await page.getByRole('tabpanel').getByText('Be kind.<U+E0073><U+200B> ✅️').waitFor()
    await page.getByRole('checkbox', { name: /invisible characters/ }).check()
    await approve.click()
    await page.getByRole('button', { name: 'Pin this revision' }).waitFor()
    expect((await dev.client.skill('pdf')).body).toBe('Be kind.\u{e0073}\u200b ✅️')
    expect(opened.trouble).toEqual([])
  })

  test('a large file is scanned for hidden text only at the approval, which is refused until the text is confirmed', async () => {
    using folder = new TemporaryFolder()
    const repository = new GitRepository(folder.at('team.git'))
    repository.commit({
      'pdf/SKILL.md': skillText('pdf', { body: 'Large.' }),
      'pdf/large.md': `${'All of it is visible, to here.\n'.repeat(10_000)}\u200b\n`,
    })
    await using dev = await startDev({
      state: folder.at('state'),
      args: ['--source', `file://${repository.directory}`, '--no-agent'],
    })
    await using opened = await openPage(browser, dev)
    const { page } = opened
    await page.getByRole('option', { name: /pdf/ }).click()
    const approve = page.getByRole('button', { name: 'Approve' })
    await approve.click()
    await page.getByRole('alert').getByText('large.md:10001:1: U+200B').waitFor()
    expect(await approve.isDisabled()).toBe(true)
    await page.getByRole('checkbox', { name: /invisible characters/ }).check()
    await approve.click()
    await page.getByRole('button', { name: 'Pin this revision' }).waitFor()
    expect(opened.trouble.filter(each => !each.includes('409'))).toEqual([])
  })

  test('two skills with one name have separate texts and findings, and the second is shown as shadowed', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('a/pdf', { body: 'Of the first.' })
    folder.write('b/pdf/SKILL.md', skillText('pdf', { body: 'Of the sec\u200bond.' }))
    folder.write('b/pdf/scripts/run.sh', 'x\n\u2060')
    await using dev = await startDev({
      root: folder.at('a'),
      state: folder.at('state'),
      args: ['--root', folder.at('b'), '--no-agent'],
    })
    await using opened = await openPage(browser, dev)
    const { page } = opened
    await page.getByRole('option', { name: /ok pdf/ }).click()
    await page.getByText('Of the first.').waitFor()
    expect(await page.getByRole('list', { name: 'Findings' }).count()).toBe(0)
    await page.getByRole('option', { name: /shadowed pdf/ }).click()
    const findings = page.getByRole('list', { name: 'Findings' })
    await findings.getByText('line 5, column 11: U+200B').waitFor()
    await findings.getByText('scripts/run.sh line 2, column 1: U+2060').waitFor()
    await page.getByText('This folder is not served, because its status is shadowed.').waitFor()
    await page.getByText('Of the sec<U+200B>ond.').waitFor()
    expect(await page.locator('.facts-list .badge').textContent()).toBe('shadowed')
    await page.getByRole('tab', { name: 'source' }).click()
    expect(await page.locator('.source li.info').allTextContents()).toEqual([
      expect.stringMatching(/^Of the sec<U\+200B>ond\.U\+200B: invisible characters/),
    ])
    expect(await findBarriers(page)).toEqual([])
    if (shots !== undefined) await page.screenshot({ path: `${shots}/shadowed.png` })
    await page.getByRole('button', { name: folder.at('a/pdf') }).click()
    await page.getByText('Of the first.').waitFor()
    expect(await findings.count()).toBe(0)
    expect(opened.trouble).toEqual([])
  })

  test('the history fits a screen of 380 pixels, and a rollback works on such a screen', async () => {
    using folder = new TemporaryFolder()
    const repository = new GitRepository(folder.at('team.git'))
    await using dev = await startDev({
      state: folder.at('state'),
      args: ['--source', `file://${repository.directory}`, '--no-agent'],
    })
    for (const body of ['First.', 'Second.']) {
      repository.commit(
        { 'pdf/SKILL.md': skillText('pdf', { body }) },
        {
          author: `${'Adelheid '.repeat(4)}<ada@example.com>`,
          message: `A message that is as long as they are: ${body}`,
        },
      )
      await dev.client.reload()
      const [row] = (await dev.client.skills()).skills
      await dev.client.decide({
        verb: 'approve',
        skill: 'pdf',
        revision: row?.revision ?? '',
        note: 'x'.repeat(200),
      })
    }
    await using opened = await openPage(browser, dev, { viewport: { width: 380, height: 800 } })
    const { page } = opened
    await page.getByRole('option', { name: /pdf/ }).click()
    await page.getByRole('tab', { name: 'history' }).click()
    const back = page.getByRole('button', { name: /Roll back/ })
    await back.waitFor()
    expect(await isTooWide(page)).toBe(false)
    // Elements inside the page must not scroll horizontally.
    expect(await page.locator('.scrolls').evaluate(each => each.scrollWidth > each.clientWidth)).toBe(false)
    // Columns are wide enough, so words are not broken into single letters.
    expect(
      await page
        .getByText('Adelheid')
        .first()
        .evaluate(each => each.clientWidth),
    ).toBeGreaterThan(200)
    const box = await back.boundingBox()
    expect((box?.x ?? 380) + (box?.width ?? 0)).toBeLessThanOrEqual(380)
    expect(await findBarriers(page)).toEqual([])
    if (shots !== undefined) await page.screenshot({ path: `${shots}/history-380.png`, fullPage: true })
    await back.click()
    await page.getByRole('button', { name: 'Unpin' }).waitFor()
    expect((await dev.client.skill('pdf')).body).toBe('First.')
    expect(opened.trouble).toEqual([])
  })
})
