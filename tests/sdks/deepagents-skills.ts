import {
  createDeepAgent,
  createSummarizationMiddleware,
  FilesystemBackend,
  type FilesystemPermission,
} from 'deepagents'
import { createMiddleware } from 'langchain'
import type { Harness } from './harness.ts'
import { chatModel, createEditTool } from './langchain.ts'
import { FileSaver } from './langchain-saver.ts'

/** The model of a scenario names the skill to load. A real model passes the path that the listing shows. */
const readByName = createMiddleware({
  name: 'readByName',
  wrapToolCall: (request, handler) => {
    const { toolCall } = request
    if (toolCall.name !== 'read_file') return handler(request)
    const file_path = `/${toolCall.args['file_path']}/SKILL.md`
    return handler({ ...request, toolCall: { ...toolCall, args: { file_path } } })
  },
})

/** deepagents has no scope for skills. Permissions only deny the files to the model. */
function hide(patterns: readonly string[] = []): FilesystemPermission[] {
  const paths = patterns.map(pattern => `/${pattern}/**`)
  return paths.length === 0 ? [] : [{ operations: ['read'], paths, mode: 'deny' }]
}

/** The skills of deepagents, as its documentation says: `skills` names a folder, and the model reads the files. */
export const deepagentsSkillsHarness: Harness = {
  name: 'deepagents 1.14, own skills',
  isPeer: true,
  open(world, { scope }) {
    const backend = new FilesystemBackend({ rootDir: world.folder.path, virtualMode: true })
    const checkpointer = new FileSaver(world.stateFolder.at('threads'))
    const create = (maxMessages: number, permissions = hide(scope?.exclude)) =>
      createDeepAgent({
        ...{ model: chatModel(world), tools: [createEditTool(world)], systemPrompt: 'You help.' },
        ...{ skills: ['/'], backend, permissions, checkpointer },
        middleware: [
          createSummarizationMiddleware({
            backend,
            trigger: { type: 'messages', value: maxMessages },
            keep: { type: 'messages', value: 1 },
          }),
          readByName,
        ],
      })
    type Agent = ReturnType<typeof create>
    const say = async (to: Agent, thread_id: string, content: string): Promise<void> =>
      void (await to.invoke({ messages: [{ role: 'user', content }] }, { configurable: { thread_id } }))
    let agent = create(1_000)
    return Promise.resolve({
      loadTool: { name: 'read_file', field: 'file_path' },
      say: async (text: string) => await say(agent, 'chat-1', text),
      compact: () => {
        agent = create(5)
        return Promise.resolve()
      },
      openSubagent: () => {
        const child = create(1_000, hide(['secret']))
        return Promise.resolve({ say: async (text: string) => await say(child, 'chat-1-helper', text) })
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    })
  },
}
