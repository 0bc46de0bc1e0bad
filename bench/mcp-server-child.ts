import { watch } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { loadSkills } from '@modelcontextprotocol/server/ext/skills/node'
import { createSkillRuntime } from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'
import { SkillMcp } from '@skillstoke/mcp'

// node --expose-gc bench/mcp-server-child.ts <server> <tree>: serves the skills of a tree over HTTP, sends its port to the
// parent process, and answers each message of the parent with its use of memory and processor.

const [name, tree] = process.argv.slice(2) as [keyof typeof SERVERS, string]

/** Time from a file event to the reload, in milliseconds, so that one save causes one reload. */
const DEBOUNCE_MS = 20

type Fetch = (request: Request) => Promise<Response>

const SERVERS = {
  async skillstoke(): Promise<Fetch> {
    const mcp = new SkillMcp(await createSkillRuntime({ sources: [directory(tree)] }))
    return request => mcp.fetch(request)
  },
  /** A server on the catalog of the SDK, which the program reloads after each file event. */
  async loadSkills(): Promise<Fetch> {
    const catalog = await loadSkills(tree, { onWarning: () => undefined })
    const handler = createMcpHandler(() => {
      const mcp = new McpServer(
        { name: 'bench', version: '0' },
        { capabilities: { resources: { subscribe: true } } },
      )
      catalog.attach(mcp)
      return mcp
    })
    const reload = async (): Promise<void> => {
      const { changed, listChanged } = await catalog.reload()
      if (listChanged) handler.notify.resourcesChanged()
      for (const uri of changed) handler.notify.resourceUpdated(uri)
    }
    let isDue = false
    watch(tree, { recursive: true }, () => {
      if (isDue) return
      isDue = true
      setTimeout(() => {
        isDue = false
        void reload()
      }, DEBOUNCE_MS)
    })
    return request => handler.fetch(request)
  },
}

/** Use of memory and processor by a server. */
export interface ServerUsage {
  /** Bytes of live objects, after a garbage collection. */
  readonly heap: number
  readonly resident: number
  /** Processor time since the start, in milliseconds. */
  readonly processorMs: number
}

process.on('message', () => {
  globalThis.gc?.()
  const { heapUsed, rss } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  process.send?.({
    heap: heapUsed,
    resident: rss,
    processorMs: (user + system) / 1_000,
  } satisfies ServerUsage)
})

const server = createAdaptorServer({ fetch: await SERVERS[name]() })
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
