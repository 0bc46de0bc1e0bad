import { expect, test } from 'vitest'

// A new export is a conscious line in a diff: update the snapshot only when the surface is meant to grow.
test.each([
  '@skillstoke/core',
  '@skillstoke/core/node',
  '@skillstoke/core/command',
  '@skillstoke/core/testing',
  '@skillstoke/scripts',
  '@skillstoke/compat',
  '@skillstoke/agent',
  '@skillstoke/agent/testing',
  '@skillstoke/mcp',
  'skillstoke/client',
  'skillstoke/command',
])('the exported names of %s are those of the snapshot', async entry => {
  const module = (await import(entry)) as Record<string, unknown>
  expect(Object.keys(module).sort()).toMatchSnapshot()
})
