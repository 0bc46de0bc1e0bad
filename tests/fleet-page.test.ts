import { FleetConnection, prepareFleet, SkillPublisher } from '@skillstoke/fleet'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CHROMIUM, launchBrowser } from './fixtures/browser.ts'
import { startDev } from './fixtures/dev.ts'
import { NATS_SERVER, NatsServer } from './fixtures/nats-server.ts'
import { findBarriers, isTooWide, openPage } from './fixtures/open-page.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

let browser: Browser

beforeAll(async () => {
  if (CHROMIUM !== undefined) browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
})

describe.skipIf(CHROMIUM === undefined || NATS_SERVER === undefined)('the fleet on the page', () => {
  test('shows versions and agents, and a rollback asks first and publishes the version before on all machines', async () => {
    await using server = await NatsServer.start()
    await using fleet = new FleetConnection({ servers: server.url })
    await prepareFleet(fleet)
    using folder = new TemporaryFolder()
    const publisher = new SkillPublisher(fleet, { publisher: 'ada@laptop' })
    for (const body of ['One.', 'Two.']) {
      folder.writeSkill('skills/maps', { body })
      await publisher.publish(folder.at('skills'), { note: `edition ${body}` })
    }
    await using dev = await startDev({
      state: folder.at('state'),
      args: ['--fleet', server.url, '--no-agent'],
    })
    await using opened = await openPage(browser, dev)
    const { page } = opened
    await page.getByRole('link', { name: 'Fleet' }).click()
    await page.getByText('ada@laptop released maps 2: edition Two.').waitFor()
    const matrix = page.getByRole('table', { name: 'Skills by agent' })
    // The machine has no trusted keys, so the version waits for approval.
    await matrix.getByRole('cell', { name: /waits for approval/ }).waitFor()
    await matrix.getByRole('rowheader', { name: /^maps 2, (?:just now|\d+ s ago)$/ }).waitFor()
    await page.getByRole('heading', { name: '0 of 1 agent have every newest version' }).waitFor()
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      for (const width of [380, 1024, 1440]) {
        await page.setViewportSize({ width, height: 900 })
        expect(await findBarriers(page), `${colorScheme} ${width}`).toEqual([])
        expect(await isTooWide(page), `${colorScheme} ${width}`).toBe(false)
      }
    }

    const rollBack = page.getByRole('button', { name: 'Roll back maps…' })
    await rollBack.click()
    const question = page.getByRole('dialog', { name: 'Roll back maps from version 2 to 1?' })
    await question.getByText('Version 1 by ada@laptop: “edition One.”').waitFor()
    await question.getByRole('button', { name: 'Cancel' }).click()
    expect(await publisher.history('maps')).toHaveLength(2)
    await rollBack.click()
    await question.getByRole('button', { name: 'Roll back' }).click()
    await page.getByText(/released maps 3: rolled back on the page/).waitFor()
    expect((await publisher.history('maps'))[0]).toMatchObject({ version: 3, rollbackOf: 1 })
    // A version that somebody published in the meantime is not overwritten.
    const refused = await dev.client
      .rollbackFleet({ source: 'fleet', skill: 'maps', expect: 2 })
      .catch((thrown: unknown) => thrown)
    expect(refused).toMatchObject({ status: 409, code: 'CONFLICT' })

    await page.setViewportSize({ width: 390, height: 800 })
    expect(await isTooWide(page)).toBe(false)
    await server.kill('SIGKILL')
    await page.getByRole('alert').filter({ hasText: 'This is the state of' }).waitFor()
    await page.getByText('rolled back on the page').waitFor()
    await server.restart()
    await page.getByRole('alert').waitFor({ state: 'detached' })
    expect(opened.trouble).toEqual([])
  })
})
