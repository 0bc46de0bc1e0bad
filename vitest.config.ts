import { defineConfig } from 'vitest/config'
import { sourceAliases } from './scripts/source-aliases.ts'
import { ENDURANCE, SYSTEM, UNIT } from './scripts/test-projects.ts'

// The tests use real file systems and real processes: more workers than cores would only add noise.
const shared = { testTimeout: 30_000, hookTimeout: 30_000, maxWorkers: 2 }

export default defineConfig({
  test: {
    coverage: { include: ['packages/*/src/**/*.ts'], exclude: ['**/*.test.ts'] },
    // Vitest starts the projects in the order of their names: the longest files come first, the shortest fill up the end.
    projects: [
      { resolve: { alias: sourceAliases() }, test: { ...shared, ...UNIT, isolate: false } },
      { test: { ...shared, ...SYSTEM } },
      { test: { ...shared, ...ENDURANCE } },
    ],
  },
})
