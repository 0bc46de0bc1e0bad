// The use case of Exo: skills are edited during a long run of an agent. Each edit changes the tools and instructions of the agent during the run. An event bus reports the changes. Saving a broken skill changes nothing.
// Run it with `npx node examples/sync-a-running-agent/main.ts`.
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  EventBus,
  type ExoSkill,
  LocalFileWatcher,
  SkillRegistry,
  SkillSyncManager,
} from '@skillstoke/compat'
import type { BindableAgent } from '@skillstoke/core'

interface Tool {
  readonly name: string
  run(): string
}

/** A typical agent: it has instructions, and its tools can be added and removed. */
class Agent implements BindableAgent<Tool> {
  instructions = 'You are a research assistant.'
  readonly #tools = new Map<string, Tool>()

  constructor(own: readonly Tool[]) {
    for (const tool of own) this.addTool(tool)
  }

  addTool(tool: Tool): void {
    if (this.#tools.has(tool.name)) throw new Error(`tool "${tool.name}" is already registered`)
    this.#tools.set(tool.name, tool)
  }

  removeTool(name: string): void {
    this.#tools.delete(name)
  }

  hasTool(name: string): boolean {
    return this.#tools.has(name)
  }

  /** Lists the tools again for every step, so that a running agent uses the current skills. */
  step(): readonly string[] {
    return [...this.#tools.keys()].sort()
  }
}

const tool = (name: string): Tool => ({ name, run: () => `${name} ran` })
const folder = await mkdtemp(join(tmpdir(), 'skillstoke-example-'))
const save = async (name: string, body: string, description = `Knows ${name}.`): Promise<void> => {
  await mkdir(join(folder, name), { recursive: true })
  const text = `---\nname: ${name}\ndescription: ${description}\n---\n${body}\n`
  await writeFile(join(folder, name, 'SKILL.md'), text)
}
await save('research', 'Search twice.')

await using registry = new SkillRegistry().registerSource(folder)
await registry.loadAll()

const eventBus = new EventBus()
const seen: string[] = []
/** Resolves when the bus emits the next event with this name, so that the example needs no timeouts. */
const next = async (name: string): Promise<void> =>
  await new Promise(resolve => {
    const off = eventBus.on(name, payload => {
      seen.push(`${name} ${((payload['skill'] ?? payload['new_skill']) as ExoSkill).name}`)
      off()
      resolve()
    })
  })

const agent = new Agent([tool('web_search'), tool('think')])
const tools = { research: tool('web_search'), maps: [tool('route'), tool('zoom')] }
const instructionsBuilder = (skills: readonly ExoSkill[]): string =>
  [
    'Your skills:',
    ...skills.map(({ name, description, usage }) => `- **${name}**: ${description} ${usage.split('\n')[0]}`),
  ].join('\n')

{
  await using manager = new SkillSyncManager(registry, tools, { eventBus, instructionsBuilder })
  manager.addWatcher(new LocalFileWatcher(folder, { debounceMs: 20 }))
  await manager.bindAgent(agent)
  await manager.start()
  console.log('step 1:', agent.step())
  assert.deepEqual(agent.step(), ['think', 'web_search'])
  assert.match(agent.instructions, /^You are a research assistant\.\n\nYour skills:\n- .* Search twice\.$/)

  const added = next('skill:added')
  await save('maps', 'Prefer trains.')
  await added
  console.log('step 2:', agent.step())
  assert.deepEqual(agent.step(), ['route', 'think', 'web_search', 'zoom'])

  const modified = next('skill:modified')
  await save('research', 'Search three times.')
  await modified
  assert.match(agent.instructions, /Search three times\./)
  assert.equal(registry.get('research').usage, 'Search three times.')

  // A broken save. The last good revision is served until the next valid revision replaces it.
  await save('maps', 'Prefer planes.', '"never closed')
  const repaired = next('skill:modified')
  await save('maps', 'Prefer ships.')
  await repaired
  assert.match(agent.instructions, /Prefer ships\./)

  const removed = next('skill:removed')
  await rm(join(folder, 'research'), { recursive: true })
  await removed
  console.log('step 3:', agent.step())
  // If a removed skill and the agent had a tool of the same name, the agent keeps its own tool.
  assert.deepEqual(agent.step(), ['route', 'think', 'web_search', 'zoom'])
  await manager.unbindAgent(agent)
  assert.deepEqual(agent.step(), ['think', 'web_search'])
  assert.equal(agent.instructions, 'You are a research assistant.')
}

console.log(seen.join(', '))
const expected = [
  'skill:added maps',
  'skill:modified research',
  'skill:modified maps',
  'skill:removed research',
]
assert.deepEqual(seen, expected)
await rm(folder, { recursive: true })
