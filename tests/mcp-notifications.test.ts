import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, test } from 'vitest'
import { BIN } from './fixtures/cli.ts'
import { startServe } from './fixtures/serve.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

const SCRIPT = `import { defineCommand } from 'skillstoke/command'
export const find = defineCommand({ name: 'find', description: 'Finds an order.', run: () => 'found' })
`

/** Collects notifications: the kind of each list, or the URI of each resource. */
class Notifications {
  readonly told: string[] = []
  #check: () => void = () => undefined

  constructor(client: Client) {
    const tell = (what: string): void => {
      this.told.push(what)
      this.#check()
    }
    client.setNotificationHandler('notifications/tools/list_changed', () => tell('tools'))
    client.setNotificationHandler('notifications/prompts/list_changed', () => tell('prompts'))
    client.setNotificationHandler('notifications/resources/list_changed', () => tell('resources'))
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => tell(params.uri))
  }

  /** Waits for as many notifications as are expected, and returns all that have come. */
  async next(count: number): Promise<readonly string[]> {
    await new Promise<void>(resolve => {
      this.#check = () => {
        if (this.told.length >= count) resolve()
      }
      this.#check()
    })
    return this.told.splice(0).sort()
  }
}

describe.each(['2025-11-25', '2026-07-28'] as const)('a client of protocol %s', era => {
  test.each(['stdio', 'http'] as const)(
    'over %s, is told of each change once, and only what changed',
    async transport => {
      using folder = new TemporaryFolder()
      folder.writeSkill('skills/refund')
      const roots = ['--root', folder.at('skills'), '--state', folder.at('state'), '--command-tools']
      const args = [...roots, '--sandbox', 'off']
      await using serving = transport === 'http' ? await startServe([...args, '--port', '0']) : undefined
      const mode = era === '2026-07-28' ? 'auto' : 'legacy'
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
      const token = /token +(\S+)/.exec(serving?.output() ?? '')?.[1] ?? ''
      await client.connect(
        serving === undefined
          ? new StdioClientTransport({ command: process.execPath, args: [BIN, 'mcp', ...args] })
          : new StreamableHTTPClientTransport(new URL(`${serving.url}/mcp`), {
              requestInit: { headers: { authorization: `Bearer ${token}` } },
            }),
      )
      expect(client.getNegotiatedProtocolVersion()).toBe(era)
      const notifications = new Notifications(client)
      const uri = 'skill://refund/SKILL.md'
      if (era === '2025-11-25') await client.subscribeResource({ uri })
      else
        await client.listen({
          toolsListChanged: true,
          promptsListChanged: true,
          resourcesListChanged: true,
          resourceSubscriptions: [uri],
        })

      folder.writeSkill('skills/refund', { body: 'Within 60 days.' })
      expect(await notifications.next(1)).toEqual([uri])
      folder.writeSkill('skills/refund', { description: 'Use for refunds.' })
      expect(await notifications.next(3)).toEqual(['prompts', 'resources', uri])
      folder.write('skills/refund/scripts/find.js', SCRIPT)
      expect(await notifications.next(1)).toEqual(['tools'])
      // A broken save tells nothing, because the last good revision is still served.
      folder.write('skills/refund/SKILL.md', '---\nname: refund\ndescription: "open\n---\n')
      folder.writeSkill('skills/shipping')
      expect(await notifications.next(2)).toEqual(['prompts', 'resources'])
      folder.remove('skills/refund')
      expect(await notifications.next(4)).toEqual(['prompts', 'resources', uri, 'tools'])
      expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['shipping'])
      await client.close()
    },
    60_000,
  )
})
