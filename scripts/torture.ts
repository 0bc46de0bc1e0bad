import { spawnSync } from 'node:child_process'

// Runs the torture test longer than the gate does: `npm run torture`, or `npm run torture -- 3600`.

const DEFAULT_SECONDS = 300
const seconds = Number(process.argv[2] ?? DEFAULT_SECONDS)
if (!Number.isInteger(seconds) || seconds < 1) {
  console.error(`"${process.argv[2]}" is not a number of seconds; use a whole number above 0`)
  process.exit(2)
}
const { status } = spawnSync('vitest', ['run', 'tests/endurance/torture.test.ts'], {
  stdio: 'inherit',
  env: { ...process.env, SKILLSTOKE_TORTURE_SECONDS: String(seconds) },
})
process.exitCode = status ?? 1
