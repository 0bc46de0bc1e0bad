import { existsSync } from 'node:fs'

interface TestProject {
  readonly name: string
  readonly include: string[]
  readonly exclude?: string[]
}

/** Tests that run the source files in one process. These tests need no build, no other processes and no servers. */
export const UNIT: TestProject = {
  name: 'unit',
  include: ['packages/*/src/**/*.test.ts'],
  exclude: ['**/*.{system,endurance}.test.ts'],
}

/** True if the agent SDKs are installed. The gate installs them, and counts their tests as skipped if that fails. */
const hasSdks = existsSync('tests/sdks/node_modules')

/** Tests that run the built code, with processes, servers and browsers. */
export const SYSTEM: TestProject = {
  name: 'system',
  include: ['packages/*/src/**/*.system.test.ts', 'tests/**/*.test.ts'],
  exclude: ['tests/endurance/**', '**/node_modules/**', ...(hasSdks ? [] : ['tests/sdks/**'])],
}

/** Tests that take a long time, because they cause crashes, use many clients or repeat many random runs. */
export const ENDURANCE: TestProject = {
  name: 'endurance',
  include: ['packages/*/src/**/*.endurance.test.ts', 'tests/endurance/**/*.test.ts'],
}

export const TEST_PROJECTS: readonly TestProject[] = [UNIT, SYSTEM, ENDURANCE]
