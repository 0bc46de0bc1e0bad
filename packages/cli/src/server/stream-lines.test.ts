import { expect, test } from 'vitest'
import { streamLines } from './stream-lines.ts'

const LONG = 60_000

async function readAll(stream: ReadableStream<Uint8Array>): Promise<string> {
  return await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).text()
}

test('streams one line of JSON per item', async () => {
  async function* items(): AsyncGenerator<object, void, undefined> {
    yield { a: 1 }
    yield { b: 'x\ny' }
  }
  const stream = streamLines(items(), { keepAliveMs: LONG, onCancel: () => undefined })
  expect(await readAll(stream)).toBe('{"a":1}\n{"b":"x\\ny"}\n')
})

test('sends blank lines while no item comes, and then the item', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  async function* items(): AsyncGenerator<object, void, undefined> {
    await promise
    yield { a: 1 }
  }
  const reader = streamLines(items(), { keepAliveMs: 1, onCancel: () => undefined }).getReader()
  const next = async (): Promise<string> => new TextDecoder().decode((await reader.read()).value)
  expect([await next(), await next()]).toEqual(['\n', '\n'])
  resolve()
  let line = await next()
  while (line === '\n') line = await next()
  expect(line).toBe('{"a":1}\n')
})

test('requests no item that a slow reader has not made room for', async () => {
  let made = 0
  async function* items(): AsyncGenerator<object, void, undefined> {
    while (true) yield { made: ++made }
  }
  const reader = streamLines(items(), { keepAliveMs: LONG, onCancel: () => undefined }).getReader()
  for (let read = 1; read <= 5; read++) await reader.read()
  expect(made).toBeLessThan(9)
  await reader.cancel()
})

test('when the reader leaves, the pending item is aborted and the generator runs its cleanup', async () => {
  const left = new AbortController()
  let isClean = false
  async function* items(): AsyncGenerator<object, void, undefined> {
    try {
      await new Promise(resolve => left.signal.addEventListener('abort', resolve))
      yield { kind: 'failed' }
      yield { kind: 'never' }
    } finally {
      isClean = true
    }
  }
  const stream = streamLines(items(), { keepAliveMs: LONG, onCancel: () => left.abort() })
  await stream.cancel()
  expect(isClean).toBe(true)
})

test('a reader that leaves between two items ends the generator', async () => {
  let isClean = false
  async function* items(): AsyncGenerator<object, void, undefined> {
    try {
      while (true) yield {}
    } finally {
      isClean = true
    }
  }
  const reader = streamLines(items(), { keepAliveMs: LONG, onCancel: () => undefined }).getReader()
  await reader.read()
  await reader.cancel()
  expect(isClean).toBe(true)
})
