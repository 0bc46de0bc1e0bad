interface TestProject {
  readonly name: string
  readonly include: string[]
  readonly exclude?: string[]
}

/** Runs in one process, on the sources: no build, no other process, no server. */
export const UNIT: TestProject = {
  name: 'unit',
  include: ['packages/*/src/**/*.test.ts'],
  exclude: ['**/*.{system,endurance}.test.ts'],
}

/** Runs what was built: processes, servers and browsers. */
export const SYSTEM: TestProject = {
  name: 'system',
  include: ['packages/*/src/**/*.system.test.ts', 'tests/**/*.test.ts'],
  exclude: ['tests/endurance/**'],
}

/** Runs for long on purpose: crashes, many clients, many random runs. */
export const ENDURANCE: TestProject = {
  name: 'endurance',
  include: ['packages/*/src/**/*.endurance.test.ts', 'tests/endurance/**/*.test.ts'],
}

export const TEST_PROJECTS: readonly TestProject[] = [UNIT, SYSTEM, ENDURANCE]
