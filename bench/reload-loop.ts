// Edits one skill again and again, and prints how much memory each edit adds: `reload-loop.ts <kind> <reloads>`.
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSkillRuntime } from '@skillstoke/core'
import { directory, nodeHasher, openState } from '@skillstoke/core/node'

/** Memory growth per reload, and the final size of the state directory, in bytes. */
export interface ReloadGrowth {
  readonly heap: number
  readonly resident: number
  readonly state: number
}

/** Kinds of loops: `memory` uses a store in memory, `disk` uses a store on disk, and `plain` does not use the library. In the loops `memory` and `disk`, a session loads the skill. */
export const RELOAD_KINDS = ['memory', 'disk', 'plain'] as const
type ReloadKind = (typeof RELOAD_KINDS)[number]

// Number of reloads before the measurement begins. During these reloads, the caches for revisions and for compiled code fill.
const WARM_UP = 20_000

if (import.meta.main) {
  const [kind, count] = process.argv.slice(2)
  console.log(JSON.stringify(await measure(kind as ReloadKind, Number(count))))
}

async function measure(kind: ReloadKind, count: number): Promise<ReloadGrowth> {
  const folder = mkdtempSync(join(tmpdir(), 'skillstoke-bench-'))
  mkdirSync(join(folder, 'skills/one'), { recursive: true })
  const file = join(folder, 'skills/one/SKILL.md')
  const save = (number: number): void => writeFileSync(file, textOf(number))
  const state = join(folder, 'state')
  save(0)
  const { reload, close } = kind === 'plain' ? openPlain(file) : await openRuntime(kind, folder, state)
  let before: NodeJS.MemoryUsage | undefined
  for (let i = 1; i <= WARM_UP + count; i++) {
    save(i)
    await reload()
    if (i === WARM_UP) before = settled()
  }
  const after = settled()
  const size = kind === 'disk' ? sizeOf(state) : 0
  await close()
  rmSync(folder, { recursive: true })
  if (before === undefined) throw new Error('nothing was measured')
  return {
    heap: (after.heapUsed + after.external - before.heapUsed - before.external) / count,
    resident: (after.rss - before.rss) / count,
    state: size,
  }
}

interface Loop {
  readonly reload: () => Promise<void>
  readonly close: () => Promise<void>
}

async function openRuntime(kind: 'memory' | 'disk', folder: string, state: string): Promise<Loop> {
  const skills = await createSkillRuntime({
    sources: [directory(join(folder, 'skills'), { label: 'bench' })],
    tuning: { hasher: nodeHasher, settle: { settleMs: 0 } },
    ...(kind === 'disk' ? { state: await openState(state) } : {}),
  })
  const session = skills.session({ id: 'bench' })
  const reload = async (): Promise<void> => {
    await session.update()
    await skills.load('one')
  }
  return { reload, close: async () => await skills.close() }
}

/** Returns a loop that does not use the library: it reads, hashes and replaces one object. */
function openPlain(file: string): Loop {
  const skills = new Map<string, { readonly text: string; readonly digest: string }>()
  const reload = async (): Promise<void> => {
    const text = readFileSync(file, 'utf8')
    skills.set('one', { text, digest: createHash('sha256').update(text).digest('hex') })
  }
  return { reload, close: async () => skills.clear() }
}

function textOf(number: number): string {
  return `---\nname: one\ndescription: A skill.\n---\n# ${number}\n\n${'Some lines of instructions.\n'.repeat(160)}`
}

function settled(): NodeJS.MemoryUsage {
  for (let i = 0; i < 5; i++) globalThis.gc?.()
  return process.memoryUsage()
}

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).reduce((sum, name) => {
    const stats = statSync(join(folder, name), { throwIfNoEntry: false })
    return stats?.isFile() === true ? sum + stats.size : sum
  }, 0)
}
