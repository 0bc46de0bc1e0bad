import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, symlinkSync } from 'node:fs'
import { resolve } from 'node:path'
import { openPostgresStore } from '@skillstoke/agent'
import { expect, test, vi } from 'vitest'
import { POSTGRES_PROGRAMS, PostgresServer } from '../fixtures/postgres-server.ts'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'

const PROCESSES = 6
/** Messages that each process appends. */
const MESSAGES = 400

test.skipIf(POSTGRES_PROGRAMS === undefined)(
  'many agent processes lose no acknowledged message when the database fails over',
  async () => {
    const primary = await PostgresServer.start()
    const standby = await primary.startStandby()
    using folder = new TemporaryFolder()
    // The address that agents know. A fail-over points it to the other server, as a name server or a proxy does.
    const address = folder.at('database')
    symlinkSync(primary.socketFolder, address)
    const url = `postgresql://postgres@/postgres?host=${encodeURIComponent(address)}`
    const conversations = Array.from({ length: PROCESSES }, (_, index) => `c${index}`)
    const acknowledged: string[] = []
    const writers = conversations.map(conversation => {
      const program = resolve('tests/fixtures/conversation-writer.ts')
      const child = spawn(process.execPath, [program, url, conversation, String(MESSAGES)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      child.stdout.on('data', (chunk: Buffer) => acknowledged.push(...chunk.toString().trim().split('\n')))
      return once(child, 'close')
    })
    try {
      // All processes are in the middle of their work.
      await vi.waitFor(
        () => {
          for (const each of conversations)
            expect(acknowledged.filter(id => id.startsWith(`${each}-`)).length).toBeGreaterThan(5)
        },
        { timeout: 60_000 },
      )
      await primary.crash()
      const before = acknowledged.length
      await standby.promote()
      rmSync(address)
      symlinkSync(standby.socketFolder, address)
      expect(await Promise.all(writers)).toEqual(conversations.map(() => [0, null]))
      expect(acknowledged.length).toBeGreaterThan(before)
      await using store = await openPostgresStore(standby.connect())
      for (const conversation of conversations) {
        const ids = (await store.read('tenant', conversation)).map(({ id }) => id)
        expect(ids).toEqual(Array.from({ length: MESSAGES }, (_, index) => `${conversation}-${index}`))
      }
    } finally {
      await standby[Symbol.asyncDispose]()
      await primary[Symbol.asyncDispose]()
    }
  },
  180_000,
)
