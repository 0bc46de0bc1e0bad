import type { Skill, SkillReader, ToolResult } from '@skillstoke/core'
import { differsOnlyInTests, shortDigest } from '@skillstoke/core/internal'
import type { ResolvedMcpOptions } from './mcp-options.ts'
import { showName } from './recent-generations.ts'

type Revision = NonNullable<ToolResult['revision']>

/** A revision that a client knows, with its files unless it was replaced before it was recorded. */
type Known = Pick<Skill, 'revision'> & Partial<Pick<Skill, 'files'>>

interface Loads {
  /** The revision of each skill that the client knows. */
  readonly revisions: Map<string, Known>
  lastUsed: number
}

const MAX_CLIENTS = 1_000
const MAX_SKILLS = 100

/**
 * Remembers which skills recognised clients without a session have loaded, so that the next answer to the client says
 * that a skill has changed. Reports each change once.
 */
export class ClientLoads {
  readonly #reader: SkillReader
  readonly #options: ResolvedMcpOptions
  /** The client that was used last is the last one. */
  readonly #clients = new Map<string, Loads>()

  constructor(reader: SkillReader, options: ResolvedMcpOptions) {
    this.#reader = reader
    this.#options = options
  }

  /** Records that a client received the instructions of a revision. */
  record(client: string, name: string, revision: Revision): void {
    const loads = this.#touch(client) ?? { revisions: new Map(), lastUsed: this.#now }
    this.#clients.set(client, loads)
    loads.revisions.delete(name)
    const skill = this.#reader.current.find(name)
    loads.revisions.set(name, skill?.revision === revision ? skill : { revision })
    removeOldest(loads.revisions, MAX_SKILLS)
    removeOldest(this.#clients, MAX_CLIENTS)
  }

  /** Returns a line for each skill that has changed since the client loaded it. */
  describeChanges(client: string): string[] {
    const reader = this.#reader
    const loads = this.#touch(client)
    return [...(loads?.revisions ?? [])].flatMap(([name, { revision, files }]) => {
      const now = reader.isInScope(name) ? reader.current.find(name) : undefined
      if (now?.revision === revision) return []
      if (now !== undefined && files !== undefined && differsOnlyInTests({ files }, now)) return []
      if (now === undefined) loads?.revisions.delete(name)
      else loads?.revisions.set(name, now)
      const loaded = `You loaded ${showName(name)} at ${shortDigest(revision)}`
      return now === undefined
        ? [`${loaded}; it was removed.`]
        : [`${loaded}, it is now ${shortDigest(now.revision)}: load it again before relying on it.`]
    })
  }

  /** Returns what a client has loaded, unless it was idle for too long. */
  #touch(client: string): Loads | undefined {
    const loads = this.#clients.get(client)
    this.#clients.delete(client)
    if (loads === undefined || this.#now - loads.lastUsed > this.#options.sessionIdleMs) return undefined
    loads.lastUsed = this.#now
    this.#clients.set(client, loads)
    return loads
  }

  get #now(): number {
    return this.#options.clock.monotonic()
  }
}

function removeOldest(map: Map<string, unknown>, maxSize: number): void {
  const [oldest] = map.keys()
  if (map.size > maxSize && oldest !== undefined) map.delete(oldest)
}
