import { existsSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import { sourceAliases } from './scripts/source-aliases.ts'
import { ENDURANCE, PACKED, SDKS, SYSTEM, UNIT } from './scripts/test-projects.ts'

// Uses more workers than cores, because many tests mostly wait for a process, a server or a deadline.
const shared = { testTimeout: 90_000, hookTimeout: 90_000, maxWorkers: 5 }
const patient = {
  ...shared,
  setupFiles: ['tests/fixtures/patience.ts'],
  expect: { poll: { timeout: 45_000 } },
}

export default defineConfig({
  test: {
    coverage: { include: ['packages/*/src/**/*.ts'], exclude: ['**/*.test.ts'] },
    // Vitest starts the projects in alphabetical order. The project with the slowest files starts first, and the project with the fastest files starts last.
    projects: [
      { resolve: { alias: sourceAliases() }, test: { ...shared, ...UNIT, isolate: false } },
      { test: { ...patient, ...SYSTEM } },
      ...(existsSync('tests/sdks/node_modules') ? [{ test: { ...patient, ...SDKS } }] : []),
      { test: { ...patient, ...PACKED } },
      { test: { ...patient, ...ENDURANCE } },
    ],
  },
})
