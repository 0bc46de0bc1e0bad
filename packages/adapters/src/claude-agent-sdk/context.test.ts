import { expect, test, vi } from 'vitest'
import { createContextHook, createLongContextHooks } from './context.ts'

/** Calls all hooks for one event, as Claude Code does, and returns the texts that they add. */
async function fire(text: string | undefined, event = 'SessionStart'): Promise<string[]> {
  const hooks = createLongContextHooks(event, () => Promise.resolve(text))
  const outputs = await Promise.all(hooks.map(async hook => await hook({}, 'id-1')))
  return outputs.flatMap(({ hookSpecificOutput: output }) => (output ? [output.additionalContext] : []))
}

test('createLongContextHooks() returns a short text once, and nothing for no text', async () => {
  expect(await fire('short')).toEqual(['short'])
  expect(await fire('')).toEqual([])
  expect(await fire(undefined)).toEqual([])
})

test('createLongContextHooks() splits a long text at line breaks', async () => {
  const line = `${'x'.repeat(99)}\n`
  const text = line.repeat(250)
  const parts = await fire(text)
  expect(parts.length).toBe(3)
  expect(parts.every(part => part.length <= 10_000)).toBe(true)
  expect(parts.join('\n')).toBe(text)
})

test('createLongContextHooks() splits a line that is too long', async () => {
  const text = '😀'.repeat(8_000)
  const parts = await fire(text)
  expect(parts.map(part => part.length)).toEqual([10_000, 6_000])
  expect(parts.join('')).toBe(text)
  const odd = `x${text}`
  expect((await fire(odd)).every(part => part.isWellFormed())).toBe(true)
})

test('createLongContextHooks() puts the rest of a very long text into the last part', async () => {
  const parts = await fire('x'.repeat(100_000))
  expect(parts.map(part => part.length)).toEqual([10_000, 10_000, 10_000, 10_000, 10_000, 50_000])
})

test('createLongContextHooks() reads once for each event, and each hook fails if reading fails', async () => {
  const read = vi.fn(({ text }: { text: string }) =>
    text === 'bad' ? Promise.reject(new Error('unreadable')) : Promise.resolve(text),
  )
  const hooks = createLongContextHooks('SubagentStart', read)
  const run = async (text: string, id: string): Promise<unknown[]> =>
    await Promise.all(
      hooks.map(async hook => (await hook({ text }, id)).hookSpecificOutput?.additionalContext),
    )
  const [first, second] = await Promise.all([run('one', 'a'), run('two', 'b')])
  expect(first).toEqual(['one', undefined, undefined, undefined, undefined, undefined])
  expect(second[0]).toBe('two')
  expect(read).toHaveBeenCalledTimes(2)
  await expect(run('bad', 'c')).rejects.toThrow('unreadable')
  expect(await run('three', 'c')).toContain('three')
})

test('createContextHook() returns the text of its event', async () => {
  const hook = createContextHook('PostToolBatch', (input: string) => Promise.resolve(input))
  const output = { hookEventName: 'PostToolBatch', additionalContext: 'News.' }
  expect(await hook('News.', 'a')).toEqual({ hookSpecificOutput: output })
  expect(await hook('', 'b')).toEqual({})
})
