import { expect, test } from 'vitest'
import { Parts } from './parts.ts'

test('closes all parts in the reverse order of their start, even if closing one part fails', async () => {
  const closed: string[] = []
  const parts = new Parts()
  parts.defer(() => closed.push('first'))
  parts.defer(() => {
    throw new Error('stuck')
  })
  const server = parts.use({
    [Symbol.asyncDispose]: async () => {
      closed.push('server')
    },
  })
  await expect(parts[Symbol.asyncDispose]()).rejects.toThrow('stuck')
  expect(closed).toEqual(['server', 'first'])
  expect(server).toBeDefined()
})
