import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findNatsServer } from '../scripts/nats-server.ts'

const examples = readdirSync('examples').filter(name => existsSync(join('examples', name, 'main.ts')))

const NATS_SERVER = findNatsServer('newest')
const withServer = examples.filter(name => name.includes('fleet'))

function check(name: string): void {
  const env = { ...process.env, ...(NATS_SERVER === undefined ? {} : { NATS_SERVER }) }
  const run = spawnSync(process.execPath, [resolve('examples', name, 'main.ts')], { encoding: 'utf8', env })
  expect(run.stderr).toBe('')
  expect(run.status).toBe(0)
}

test.each(examples.filter(name => !withServer.includes(name)))('example %s passes its own checks', check)

describe.skipIf(NATS_SERVER === undefined)('with a NATS server', () => {
  test.each(withServer)('example %s passes its own checks', check)
})

test('the folder `examples` contains at least one example', () => {
  expect(examples.length).toBeGreaterThan(0)
})
