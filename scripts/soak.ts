import { spawnSync } from 'node:child_process'

// Runs the model-based test with many more repetitions than the gate: `npm run soak`, or `npm run soak -- 20000`.

const DEFAULT_RUNS = 5_000
const runs = Number(process.argv[2] ?? DEFAULT_RUNS)
if (!Number.isInteger(runs) || runs < 1) {
  console.error(`"${process.argv[2]}" is not a number of runs; use a whole number above 0`)
  process.exit(2)
}
const start = performance.now()
const { status } = spawnSync('vitest', ['run', 'tests/endurance/model.test.ts'], {
  stdio: 'inherit',
  env: { ...process.env, SKILLSTOKE_MODEL_RUNS: String(runs) },
})
const seconds = Math.round((performance.now() - start) / 1000)
console.log(
  status === 0
    ? `${runs} runs without a difference in ${seconds} s`
    : 'A run failed. Add { seed, path, replayPath, note } from the report to tests/model/seeds.json.',
)
process.exitCode = status ?? 1
