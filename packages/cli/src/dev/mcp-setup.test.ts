import { expect, test } from 'vitest'
import { toNpxCommand } from './mcp-setup.ts'

test('clients on Windows start npx through cmd', () => {
  expect(toNpxCommand(['-y', 'skillstoke'], 'win32')).toEqual({
    command: 'cmd',
    args: ['/c', 'npx', '-y', 'skillstoke'],
  })
  expect(toNpxCommand(['-y', 'skillstoke'], 'darwin')).toEqual({ command: 'npx', args: ['-y', 'skillstoke'] })
})
