import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CHROMIUM, launchBrowser } from './fixtures/browser.ts'
import { startDev } from './fixtures/dev.ts'
import { GitRepository } from './fixtures/git-repository.ts'
import { findBarriers, goTo, isTooWide, openPage, rowOf } from './fixtures/open-page.ts'
import { skillText, TemporaryFolder } from './fixtures/skill-folder.ts'

let browser: Browser

beforeAll(async () => {
  if (CHROMIUM !== undefined) browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
})

describe.skipIf(CHROMIUM === undefined)('reviewing on the page', () => {
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
    await goTo(page, '/skills/pdf')
    const approve = page.getByRole('button', { name: /^Approve/ })
    await approve.waitFor()
    expect(await approve.isDisabled()).toBe(true)
    held.resolve()
    await page.locator('.diff .a', { hasText: 'Be kind.<U+E0073><U+200B> ✅️' }).waitFor()
    await page.getByText('Say something that people do not see').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await approve.click()
    const question = page.getByRole('dialog', { name: /^Approve pdf with text that people do not see/ })
    await question.getByRole('button', { name: 'Cancel' }).click()
    expect((await dev.client.skills()).skills[0]?.status).toBe('pending')
    await page.keyboard.press('a')
    await question.getByRole('button', { name: 'Approve anyway' }).click()
    await page.getByText(/^Approved pdf\./).waitFor()
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
    await goTo(page, '/skills/pdf')
    await page.getByRole('button', { name: /^Approve/ }).click()
    const question = page.getByRole('dialog', { name: /^Approve pdf with text that people do not see/ })
    // The page may have asked the server first, or the server may have refused.
    await question.getByText(/large\.md(?: line |:)10001\b.*U\+200B/).waitFor()
    expect((await dev.client.skills()).skills[0]?.status).toBe('pending')
    await question.getByRole('button', { name: 'Approve anyway' }).click()
    await page.getByText(/^Approved pdf\./).waitFor()
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
    await goTo(page, '/skills')
    await rowOf(page, /^pdf \d/).click()
    await page.locator('.prose').getByText('Of the first.').waitFor()
    expect(await page.locator('.finding').count()).toBe(0)
    await rowOf(page, /^pdf shadowed/).click()
    await page.getByText('No agent sees pdf.').waitFor()
    await page.locator('.prose').getByText('Of the sec<U+200B>ond.').waitFor()
    await page.locator('.src .finding').getByText('U+200B').waitFor()
    await page
      .locator('.others .finding')
      .getByText(/scripts\/run\.sh.*U\+2060/)
      .waitFor()
    expect(await page.locator('.title .badge').textContent()).toBe('shadowed')
    expect(await findBarriers(page)).toEqual([])
    expect(opened.trouble).toEqual([])
  })

  test('the history fits a screen of 380 pixels, with long names and notes', async () => {
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
    await goTo(page, '/skills/pdf/changes')
    const back = page.getByRole('button', { name: /^Restore the text of/ })
    await back.waitFor()
    expect(await isTooWide(page)).toBe(false)
    // Columns are wide enough, so words are not broken into single letters.
    const author = page.getByRole('button', { name: /Adelheid/ }).first()
    expect(await author.evaluate(each => each.clientWidth)).toBeGreaterThan(180)
    const box = await back.boundingBox()
    expect((box?.x ?? 380) + (box?.width ?? 0)).toBeLessThanOrEqual(380)
    expect(await findBarriers(page)).toEqual([])
    expect(opened.trouble).toEqual([])
  })
})
