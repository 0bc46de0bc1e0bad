import {
  createAgentSession,
  DefaultResourceLoader,
  type ExtensionFactory,
  ModelRuntime,
  SessionManager,
  SettingsManager,
} from '@earendil-works/pi-coding-agent'
import { createScopeTest } from '@skillstoke/core'
import type { Harness, HarnessOptions } from './harness.ts'
import { createModel, editTool } from './pi.ts'
import type { World } from './world.ts'

/** The model of a scenario names the skill to load. A real model passes the path that the listing shows. */
const readByName: ExtensionFactory = pi => {
  pi.on('tool_call', ({ toolName, input }) => {
    if (toolName === 'read') Object.assign(input, { path: `${String(input['path'])}/SKILL.md` })
  })
}

type Session = Awaited<ReturnType<typeof createAgentSession>>['session']

async function openSession(
  world: World,
  { scope }: HarnessOptions,
  manager: (cwd: string, folder: string) => SessionManager,
): Promise<Session> {
  const cwd = world.folder.path
  const agentDir = world.stateFolder.at('pi')
  const settingsManager = SettingsManager.inMemory({
    retry: { enabled: false },
    // Scenarios are short: only the last answer stays.
    compaction: { keepRecentTokens: 1 },
  })
  const isSeen = createScopeTest(scope ?? {})
  const resourceLoader = new DefaultResourceLoader({
    ...{ cwd, agentDir, settingsManager, systemPrompt: 'You help.', additionalSkillPaths: [cwd] },
    ...{ noExtensions: true, noContextFiles: true, extensionFactories: [readByName] },
    skillsOverride: found => ({ ...found, skills: found.skills.filter(({ name }) => isSeen(name)) }),
  })
  await resourceLoader.reload()
  const modelRuntime = await ModelRuntime.create({ authPath: `${agentDir}/auth.json`, modelsPath: null })
  const { provider, ...model } = createModel(world, 'openai-completions', {})
  modelRuntime.registerProvider(provider, {
    baseUrl: model.baseUrl,
    apiKey: 'none',
    api: model.api,
    models: [model],
  })
  const { session } = await createAgentSession({
    ...{ cwd, agentDir, settingsManager, resourceLoader, modelRuntime },
    model: { ...model, provider },
    thinkingLevel: 'off',
    ...{ tools: ['read', 'edit'], customTools: [editTool(world)] },
    sessionManager: manager(cwd, `${agentDir}/sessions`),
  })
  return session
}

async function ask(session: Session, text: string): Promise<void> {
  await session.prompt(text)
  const { errorMessage } = session.agent.state
  if (errorMessage !== undefined) throw new Error(errorMessage)
}

/** The skills of the coding agent of pi, in its SDK: the listing is in the system text, and the model reads the files. */
export const piSkillsHarness: Harness = {
  name: '@earendil-works/pi-coding-agent 1.5, own skills',
  isPeer: true,
  async open(world, options) {
    const session = await openSession(world, options, (...place) => SessionManager.continueRecent(...place))
    const children: Session[] = []
    return {
      loadTool: { name: 'read', field: 'path' },
      say: async text => await ask(session, text),
      compact: async () => void (await session.compact()),
      openSubagent: async () => {
        const scope = { exclude: ['secret'] }
        const child = await openSession(world, { scope }, cwd => SessionManager.inMemory(cwd))
        children.push(child)
        return { say: async text => await ask(child, text) }
      },
      [Symbol.asyncDispose]: () => {
        for (const each of [session, ...children]) each.dispose()
        return Promise.resolve()
      },
    }
  },
}
