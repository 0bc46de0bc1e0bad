import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const examples = readdirSync('examples').filter(name => existsSync(join('examples', name, 'main.ts')))

test.each(examples)('example %s passes its own checks', name => {
  const run = spawnSync(process.execPath, [resolve('examples', name, 'main.ts')], { encoding: 'utf8' })
  expect(run.stderr).toBe('')
  expect(run.status).toBe(0)
})

test('the folder `examples` contains at least one example', () => {
  expect(examples.length).toBeGreaterThan(0)
})
