import { readFileSync } from 'node:fs'
import { verifies } from '@skillstoke/requirements'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { worldCommands } from '../model/commands.ts'
import { SkillWorld } from '../model/skill-world.ts'

interface Seed {
  readonly seed: number
  readonly path: string
  readonly replayPath: string
  /** The failure that this seed reproduces. */
  readonly note: string
}

const RUNS = Number(process.env['SKILLSTOKE_MODEL_RUNS'] ?? 200)
const PROGRESS = 500
const MS_A_RUN = 5_000
const seeds = JSON.parse(
  readFileSync(new URL('../model/seeds.json', import.meta.url), 'utf8'),
) as readonly Seed[]
let runs = 0

function createProperty(options: { readonly replayPath?: string } = {}) {
  return fc.asyncProperty(fc.commands(worldCommands(), { maxCommands: 25, ...options }), async commands => {
    if (++runs % PROGRESS === 0) process.stderr.write(`${runs} of ${RUNS} runs\n`)
    await using world = await SkillWorld.open()
    await fc.asyncModelRun(() => ({ model: {}, real: world }), commands)
    await world.settle()
  })
}

test(
  `every reader sees the result of a fresh scan or the last good revision, after any change of the folders ${verifies(
    'PROMISE-1',
    'PROMISE-2',
    'PROMISE-3',
    'PROMISE-4',
    'PROMISE-5',
    'PROMISE-6',
    'P22',
    'P25',
    'P26',
    'P33',
  )}`,
  async () => {
    await fc.assert(createProperty(), { numRuns: RUNS })
    expect(runs).toBeGreaterThanOrEqual(RUNS)
  },
  RUNS * MS_A_RUN,
)

test.each(seeds)('$note stays fixed', async ({ seed, path, replayPath }) => {
  await fc.assert(createProperty({ replayPath }), { seed, path, endOnFailure: true })
})
