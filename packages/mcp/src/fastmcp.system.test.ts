import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createSkillRuntime } from '@skillstoke/core'
import { expect, test } from 'vitest'
import { mcpServer } from './mcp-source.ts'

// The answers have the form that the source code of FastMCP gives them (Python, https://github.com/PrefectHQ/fastmcp,
// August and September 2026). They were written by hand: FastMCP was not run.

const SKILL_MD = '---\nname: code-review\ndescription: Review code for quality.\n---\n# Code review\n'
const LOGO = Buffer.from([137, 80, 78, 71, 0, 255])
const digest = (data: string | Buffer): string => `sha256:${createHash('sha256').update(data).digest('hex')}`
const size = Buffer.byteLength(SKILL_MD)

interface Message {
  readonly id?: number
  readonly method: string
  readonly params?: { readonly uri?: string; readonly _meta?: Readonly<Record<string, unknown>> }
}

type Answers = Readonly<Record<string, (message: Message) => object | undefined>>

/** Serves the recorded answers. A method without an answer fails as in the SDK for Python. */
async function serve(answers: Answers): Promise<AsyncDisposable & { readonly host: string }> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const message = JSON.parse(Buffer.concat(await request.toArray()).toString() || '{}') as Message
    if (message.id === undefined) {
      response.writeHead(request.method === 'POST' ? 202 : 405).end()
      return
    }
    const result = answers[message.method]?.(message)
    const error = { code: -32602, message: `Invalid request parameters of ${message.method}` }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...(result ? { result } : { error }) }))
  }
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

async function expectSkill(host: string): Promise<void> {
  const source = mcpServer(`http://${host}/mcp`, { trust: 'auto', privateHosts: [host] })
  await using skills = await createSkillRuntime({ sources: [source] })
  expect(skills.status()[0]?.lastError).toBeUndefined()
  expect((await skills.load('code-review')).body).toBe('# Code review')
  const skill = skills.current.get('code-review')
  expect(skill.description).toBe('Review code for quality.')
  expect(await skills.readFile(skill, 'assets/my logo.png')).toEqual(new Uint8Array(LOGO))
}

const contents: Readonly<Record<string, object>> = {
  'skill://code-review/SKILL.md': { mimeType: 'text/markdown', text: SKILL_MD },
  'skill://code-review/assets/my%20logo.png': { mimeType: 'image/png', blob: LOGO.toString('base64') },
  'skill://code-review/_manifest': {
    mimeType: 'application/json',
    text: JSON.stringify(
      {
        skill: 'code-review',
        files: [
          { path: 'SKILL.md', size, hash: digest(SKILL_MD) },
          { path: 'assets/my logo.png', size: LOGO.length, hash: digest(LOGO) },
        ],
      },
      undefined,
      2,
    ),
  },
}

function read({ params }: Message): object | undefined {
  const content = contents[params?.uri ?? '']
  return content && { contents: [{ uri: params?.uri, ...content }] }
}

test('mcpServer() reads the SkillProvider of FastMCP 3 and 4.0, which offers skills as resources', async () => {
  const toResource = (path: string, mimeType: string, isManifest: boolean): object => {
    return {
      name: `code-review/${path}`,
      uri: `skill://code-review/${path}`,
      description: isManifest ? 'File listing for code-review' : 'Review code for quality.',
      mimeType,
      _meta: { fastmcp: { tags: [], skill: { name: 'code-review', is_manifest: isManifest } } },
    }
  }
  await using server = await serve({
    initialize: () => ({
      protocolVersion: '2025-11-25',
      capabilities: {
        experimental: {},
        logging: {},
        prompts: { listChanged: true },
        resources: { subscribe: false, listChanged: true },
        tools: { listChanged: true },
      },
      serverInfo: { name: 'Skills Server', version: '4.0.0' },
    }),
    'resources/list': () => ({
      resources: [
        toResource('SKILL.md', 'text/markdown', false),
        toResource('_manifest', 'application/json', true),
      ],
    }),
    'resources/read': read,
  })
  await expectSkill(server.host)
})

test('mcpServer() reads the Skills extension of FastMCP 4.1, which refuses clients that do not declare it', async () => {
  const cache = { ttlMs: 0, cacheScope: 'private', resultType: 'complete' }
  await using server = await serve({
    'server/discover': () => ({
      ...cache,
      supportedVersions: ['2026-07-28', '2025-11-25'],
      capabilities: { resources: {}, extensions: { 'io.modelcontextprotocol/skills': {} } },
      serverInfo: { name: 'Skills Server', version: '4.1.2' },
    }),
    'skills/list': ({ params }) => {
      if (!JSON.stringify(params?._meta).includes('io.modelcontextprotocol/skills')) return undefined
      return {
        ...cache,
        skills: [
          {
            uri: 'skill://code-review/SKILL.md',
            frontmatter: { name: 'code-review', description: 'Review code for quality.' },
            resources: [
              { uri: 'skill://code-review/SKILL.md', digest: digest(SKILL_MD), size },
              { uri: 'skill://code-review/assets/my%20logo.png', digest: digest(LOGO), size: LOGO.length },
            ],
          },
        ],
      }
    },
    'resources/read': message => ({ ...cache, ...read(message) }),
  })
  await expectSkill(server.host)
})
