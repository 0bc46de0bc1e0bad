import { Agent, run, tool } from '@openai/agents'
import { bindableAgent } from '@skillstoke/adapters/openai-agents'
import { LocalFileWatcher, SkillRegistry, SkillSyncManager } from '@skillstoke/compat'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { chatModel } from './openai-agents.ts'
import { World } from './world.ts'

const route = tool({
  name: 'route',
  description: 'Routes.',
  parameters: z.object({}),
  execute: () => 'A route.',
})

let world: World
beforeEach(async () => {
  world = await World.open()
})
afterEach(async () => await world[Symbol.asyncDispose]())

describe('bindableAgent()', () => {
  test('an agent gets and loses tools between two steps of a run, through a SkillSyncManager', async () => {
    await using registry = new SkillRegistry().registerSource(world.folder.path)
    await registry.loadAll()
    await using manager = new SkillSyncManager(registry, { maps: route }, { instructionsBuilder: list })
    manager.addWatcher(new LocalFileWatcher(world.folder.path, { debounceMs: 0 }))
    const agent = new Agent({ name: 'Helper', instructions: 'You help.', model: chatModel(world) })
    let step = 0
    const edit = tool({
      ...{ name: 'edit', description: 'Edits.', parameters: z.object({}) },
      execute: async () => {
        const isAdded = step++ === 0
        if (isAdded) world.folder.writeSkill('maps')
        else world.folder.remove('maps')
        await until(() => agent.tools.some(({ name }) => name === 'route') === isAdded)
        return 'Edited.'
      },
    })
    agent.tools = [edit]
    await manager.bindAgent(bindableAgent(agent))
    await manager.start()
    const call = (name: string): { kind: 'call'; name: string; input: object } => ({
      ...{ kind: 'call', name, input: {} },
    })
    world.server.play(call('edit'), call('route'), call('edit'), { kind: 'text', text: 'Done.' })
    expect((await run(agent, 'Go.')).finalOutput).toBe('Done.')
    const names = world.server.requests.map(({ body }) =>
      (body.tools ?? []).map(each => (each as { function: { name: string } }).function.name),
    )
    expect(names).toEqual([['edit'], ['edit', 'route'], ['edit', 'route'], ['edit']])
    expect(world.server.requests[2]?.text).toContain('A route.')
    expect(world.server.requests[1]?.text).toContain('Skills: maps, orders, refund, secret')
    expect(world.server.requests[3]?.text).toContain('Skills: orders, refund, secret')
    expect(world.server.requests[0]?.text).toContain('You help.')
  })

  test('a tool that was removed after the model had seen it does not run', async () => {
    const agent = new Agent({ name: 'Helper' })
    const bindable = bindableAgent(agent)
    bindable.addTool(route)
    const [seen] = agent.tools
    expect(bindable.hasTool?.('route')).toBe(true)
    bindable.removeTool('route')
    const invoke = (seen as typeof route).invoke as (...given: unknown[]) => Promise<unknown>
    expect(await invoke({}, '{}')).toBe('The tool "route" was removed because its skill changed.')
  })

  test('instructions that are a function stay as they are', () => {
    const instructions = (): string => 'You help.'
    const agent = new Agent({ name: 'Helper', instructions })
    const bindable = bindableAgent(agent)
    bindable.instructions = 'Other.'
    expect(agent.instructions).toBe(instructions)
  })
})

function list(skills: readonly { readonly name: string }[]): string {
  return `Skills: ${skills.map(({ name }) => name).join(', ')}`
}

/** Waits until the watcher has passed on a change. */
async function until(isReached: () => boolean): Promise<void> {
  while (!isReached()) await new Promise(resolve => setImmediate(resolve))
}
