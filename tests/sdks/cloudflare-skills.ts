import { createReadStream, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { createOpenAI } from '@ai-sdk/openai'
import { loadSkillCatalog, type SkillWorkspace, workspace } from 'agents/skills'
import { createSkillTools } from 'agents/skills/tools/ai-sdk'
import { generateText, type ModelMessage, stepCountIs, tool } from 'ai'
import { z } from 'zod'
import type { Harness } from './harness.ts'

/** The skills of Cloudflare's `agents`, whose catalog and tools are loaded again for each turn. */
export const cloudflareSkillsHarness: Harness = {
  name: 'agents 0.32 (agents/skills)',
  isPeer: true,
  limits: { scope: '`workspace()` serves every skill below its root' },
  open(world) {
    const source = workspace(createNodeWorkspace(), { root: world.folder.path })
    const file = world.stateFolder.at('chat.json')
    let messages = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ModelMessage[]) : []
    const model = createOpenAI({ baseURL: `${world.server.url}/v1`, apiKey: 'none' }).chat('test-model')
    const { description, run } = world.edit
    const edit = tool({ description, inputSchema: z.object({}), execute: run })
    let catalog: Awaited<ReturnType<typeof loadSkillCatalog>> | undefined
    return Promise.resolve({
      loadTool: { name: 'activate_skill', field: 'name' },
      async say(text) {
        catalog = await loadSkillCatalog([source], { ...(catalog && { previous: catalog }) })
        const asked: ModelMessage[] = [...messages, { role: 'user', content: text }]
        const { responseMessages } = await generateText({
          model,
          instructions: ['You help.', catalog.prompt()].filter(part => part !== null).join('\n\n'),
          messages: asked,
          tools: { ...createSkillTools(catalog), edit },
          stopWhen: stepCountIs(9),
          maxRetries: 0,
        })
        messages = [...asked, ...responseMessages]
        writeFileSync(file, JSON.stringify(messages))
      },
      [Symbol.asyncDispose]: async () => {},
    })
  },
}

/** The part of a Computer Workspace that a source reads, over the file system of this machine. */
function createNodeWorkspace(): SkillWorkspace {
  return {
    fs: {
      async find(directory) {
        const entries = await readdir(directory, { recursive: true, withFileTypes: true })
        return entries.map(entry => ({
          path: join(entry.parentPath, entry.name),
          type: entry.isFile() ? 'file' : 'directory',
        }))
      },
      readFile: path => Promise.resolve(Readable.toWeb(createReadStream(path)) as ReadableStream<Uint8Array>),
    },
  }
}
