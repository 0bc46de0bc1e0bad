interface TestProject {
  readonly name: string
  readonly include: string[]
  readonly exclude?: string[]
}

/** Tests that run in one process, on the sources, without a build, other processes or servers. */
export const UNIT: TestProject = {
  name: 'unit',
  include: ['packages/*/src/**/*.test.ts'],
  exclude: ['**/*.{system,endurance}.test.ts'],
}

/** Tests that run the built code in processes, servers and browsers. */
export const SYSTEM: TestProject = {
  name: 'system',
  include: ['packages/*/src/**/*.system.test.ts', 'tests/**/*.test.ts'],
  exclude: ['tests/endurance/**'],
}

/** Tests that run for a long time: crashes, many clients, many random runs. */
export const ENDURANCE: TestProject = {
  name: 'endurance',
  include: ['packages/*/src/**/*.endurance.test.ts', 'tests/endurance/**/*.test.ts'],
}

export const TEST_PROJECTS: readonly TestProject[] = [UNIT, SYSTEM, ENDURANCE]
