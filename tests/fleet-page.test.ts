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
  test('shows versions and agents, and one click publishes the version before on all machines', async () => {
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
    await page.getByRole('link', { name: /Fleet/ }).click()
    const versions = page.getByRole('table', { name: 'Published versions' })
    await versions.getByRole('row', { name: /maps 2 .* ada@laptop edition Two\./ }).waitFor()
    // The machine has no trusted keys, so it holds the version for approval.
    await page.getByRole('table', { name: 'Agents' }).getByRole('row', { name: /held/ }).waitFor()
    expect(await findBarriers(page)).toEqual([])
    const shots = process.env['SCREENSHOTS']
    if (shots !== undefined) await page.screenshot({ path: `${shots}/fleet.png` })

    await page.getByRole('button', { name: 'Roll back maps' }).click()
    await page.getByRole('button', { name: 'Cancel' }).click()
    expect(await publisher.history('maps')).toHaveLength(2)
    await page.getByRole('button', { name: 'Roll back maps' }).click()
    await page.getByRole('button', { name: 'Yes, roll back maps' }).click()
    await versions.getByRole('row', { name: /maps 3 .* rolled back on the page/ }).waitFor()
    expect((await publisher.history('maps'))[0]).toMatchObject({ version: 3, rollbackOf: 1 })
    // A version that somebody published in the meantime is not overwritten.
    const refused = await dev.client
      .rollbackFleet({ source: 'fleet', skill: 'maps', expect: 2 })
      .catch((thrown: unknown) => thrown)
    expect(refused).toMatchObject({ status: 409, code: 'CONFLICT' })

    await page.setViewportSize({ width: 390, height: 800 })
    expect(await isTooWide(page)).toBe(false)
    // Only the view scrolls, and not the page around it.
    expect(await page.evaluate('document.documentElement.scrollHeight <= window.innerHeight')).toBe(true)
    if (shots !== undefined) await page.screenshot({ path: `${shots}/fleet-390.png` })
    await server.kill('SIGKILL')
    await page.getByRole('alert').filter({ hasText: 'This is the state of' }).waitFor()
    await page.getByText('rolled back on the page').waitFor()
    await server.restart()
    await versions.waitFor()
    expect(opened.trouble).toEqual([])
  })
})
