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

/** Tests of the adapters with the real agent SDKs. They need the packages in `tests/sdks/node_modules`. */
export const SDKS: TestProject = {
  name: 'sdks',
  include: ['tests/sdks/**/*.test.ts'],
  exclude: ['**/node_modules/**'],
}

/** Tests of the packages as npm would publish them, on all runtimes. */
export const PACKED: TestProject = { name: 'packed', include: ['tests/packed-packages.test.ts'] }

/** Tests that run the built code, with processes, servers and browsers. */
export const SYSTEM: TestProject = {
  name: 'system',
  include: ['packages/*/src/**/*.system.test.ts', 'tests/**/*.test.ts'],
  exclude: ['tests/endurance/**', '**/node_modules/**', ...SDKS.include, ...PACKED.include],
}

/** Tests that take a long time, because they cause crashes, use many clients or repeat many random runs. */
export const ENDURANCE: TestProject = {
  name: 'endurance',
  include: ['packages/*/src/**/*.endurance.test.ts', 'tests/endurance/**/*.test.ts'],
}

export const TEST_PROJECTS: readonly TestProject[] = [UNIT, SYSTEM, SDKS, PACKED, ENDURANCE]
