import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { type DevProcess, startDev } from '../fixtures/dev.ts'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'

test('of 100 readers of the event stream, those that read fast enough get every generation, and no events are buffered for stalled readers', async () => {
  using folder = new TemporaryFolder()
  using state = new TemporaryFolder()
  const writeAll = (number: number): void => {
    for (let index = 0; index < 60; index++)
      folder.writeSkill(`skill-${index}`, { description: `${number} ${'x'.repeat(1_000)}` })
  }
  writeAll(0)
  await using dev = await startDev({ root: folder.path, state: state.path, args: ['--no-agent'] })
  const stalled = await Promise.all(Array.from({ length: 5 }, () => stall(dev)))
  const end = new AbortController()
  const generations = new Map<number, Set<number>>()
  let length = 0
  let reached = (): void => undefined
  const readers = Array.from({ length: 95 }, async (_, reader) => {
    const seen = new Set<number>()
    generations.set(reader, seen)
    if (reader > 0)
      return await readGenerations(dev, end.signal, number => {
        seen.add(number)
        reached()
      })
    for await (const event of dev.client.events({ signal: end.signal })) {
      if (event.kind === 'state' || event.kind === 'update') seen.add(event.status.generation.number)
      length += JSON.stringify(event).length
      reached()
    }
  })
  const first = (await dev.client.status()).generation.number
  const change = async (from: number, to: number): Promise<void> => {
    for (let number = from; number < to; number++) {
      writeAll(number)
      const { generation } = await dev.client.reload()
      while ([...generations.values()].some(seen => !seen.has(generation.number)))
        await new Promise<void>(resolve => (reached = resolve))
    }
  }
  await change(1, 100)
  const last = (await dev.client.status()).generation.number
  for (const seen of generations.values()) expect(seen.size).toBe(last - first + 1)
  // A stalled reader that reads again first gets the bytes that the kernel buffered during the stall. After these
  // bytes, the reader gets the current state.
  for (const socket of stalled) expect(await readUntil(socket, `"number":${last},`)).toBeLessThan(length / 2)
  end.abort()
  await Promise.allSettled(readers)
  for (const socket of stalled) socket.destroy()
}, 120_000)

/** Opens the event stream and never reads from it. */
async function stall(dev: DevProcess): Promise<ReturnType<typeof connect>> {
  const socket = connect(Number(new URL(dev.url).port), '127.0.0.1')
  socket.pause()
  await new Promise<void>(resolve => {
    socket.write(
      `GET /api/events HTTP/1.1\r\nHost: ${new URL(dev.url).host}\r\nAuthorization: Bearer ${dev.token}\r\n\r\n`,
      () => resolve(),
    )
  })
  return socket
}

/** Reads the event stream until the text `wanted` has arrived. Resolves to the number of bytes that were read. */
async function readUntil(socket: ReturnType<typeof connect>, wanted: string): Promise<number> {
  let length = 0
  let end = ''
  await new Promise<void>((resolve, reject) => {
    socket.on('data', data => {
      length += data.length
      const text = end + data.toString()
      if (text.includes(wanted)) resolve()
      end = text.slice(-wanted.length)
    })
    socket.on('close', () => reject(new Error(`the stream ended before ${wanted}`)))
    socket.resume()
  })
  return length
}

/** Reads the raw event stream and reports the number of each generation that arrives. */
async function readGenerations(
  dev: DevProcess,
  signal: AbortSignal,
  onNumber: (number: number) => void,
): Promise<void> {
  const headers = { authorization: `Bearer ${dev.token}` }
  const { body } = await fetch(`${dev.url}/api/events`, { headers, signal })
  let end = ''
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const text = end + chunk
    for (const [, number] of text.matchAll(/"generation":\{"number":(\d+),/g)) onNumber(Number(number))
    end = text.slice(-64)
  }
}
