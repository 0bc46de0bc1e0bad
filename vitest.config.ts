import { defineConfig } from 'vitest/config'
import { sourceAliases } from './scripts/source-aliases.ts'
import { ENDURANCE, SYSTEM, UNIT } from './scripts/test-projects.ts'

// Many tests wait for a process, a server or a deadline most of the time: two workers on two cores would leave both idle.
const shared = { testTimeout: 30_000, hookTimeout: 30_000, maxWorkers: 4 }

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
