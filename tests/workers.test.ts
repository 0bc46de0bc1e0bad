import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { rolldown } from 'rolldown'
import { describe, expect, test } from 'vitest'
import { skillText, TemporaryFolder } from './fixtures/skill-folder.ts'

// Runs the example for Cloudflare Workers in workerd, with a bucket that miniflare simulates.

interface Bucket {
  put(key: string, text: string): Promise<unknown>
  delete(key: string): Promise<void>
}

/**
 * The part of miniflare that this test uses. The tests install miniflare themselves, so the compiler does not know its
 * types.
 */
interface Simulator {
  readonly ready: Promise<URL>
  getR2Bucket(name: string): Promise<Bucket>
  dispose(): Promise<void>
}

const MINIFLARE = resolve('tests/runtimes/node_modules/miniflare/dist/src/index.js')
const TOKEN = 'secret'

/** Bundles the worker as Cloudflare's tools do, without any module of Node. */
async function bundleWorker(file: string): Promise<readonly string[]> {
  await using build = await rolldown({
    input: resolve('examples/serve-on-workers/worker.ts'),
    platform: 'neutral',
    resolve: {
      conditionNames: ['workerd', 'worker', 'browser', 'import', 'default'],
      mainFields: ['module', 'main'],
    },
  })
  const { output } = await build.write({ file, format: 'esm', codeSplitting: false })
  return output.flatMap(each => (each.type === 'chunk' ? each.imports : []))
}

async function startWorker(script: string): Promise<Simulator> {
  const { Miniflare } = (await import(pathToFileURL(MINIFLARE).href)) as {
    Miniflare: new (options: object) => Simulator
  }
  return new Miniflare({
    modules: true,
    modulesRoot: dirname(script),
    scriptPath: script,
    compatibilityDate: '2026-04-01',
    host: '127.0.0.1',
    port: 0,
    r2Buckets: ['BUCKET'],
    durableObjects: { SKILLS: 'SkillsObject' },
    bindings: { TOKEN },
  })
}

describe.skipIf(!existsSync(MINIFLARE))('skills from a bucket on Cloudflare Workers', () => {
  test('skills from a bucket are reloaded after edits, keep the last good revision, and reach clients of both protocols', async () => {
    using folder = new TemporaryFolder()
    const script = join(folder.path, 'worker.js')
    expect(await bundleWorker(script)).toEqual([])
    const worker = await startWorker(script)
    try {
      const url = new URL('/mcp', await worker.ready)
      const bucket = await worker.getR2Bucket('BUCKET')
      expect((await fetch(url, { method: 'POST' })).status).toBe(401)
      for (const mode of ['auto', 'legacy'] as const) {
        await bucket.put('skills/refund/SKILL.md', skillText('refund', { body: 'Within 30 days.' }))
        await bucket.put('skills/refund/regions.md', 'Europe.')
        const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
        const requestInit = { headers: { authorization: `Bearer ${TOKEN}` } }
        await client.connect(new StreamableHTTPClientTransport(url, { requestInit }))
        const call = async (name: string, input: object): Promise<string> =>
          JSON.stringify((await client.callTool({ name, arguments: { ...input } })).content)
        const load = async (): Promise<string> => await call('skill', { name: 'refund' })
        expect(await load()).toContain('Within 30 days.')
        expect(await call('read_skill_file', { skill: 'refund', path: 'regions.md' })).toContain('Europe.')
        await bucket.put('skills/refund/SKILL.md', skillText('refund', { body: 'Within 60 days.' }))
        expect(await load()).toContain('Within 60 days.')
        await bucket.put('skills/refund/SKILL.md', '---\nname: "refund\n---\nBroken.\n')
        const answers = await Promise.all(Array.from({ length: 20 }, load))
        expect(answers.filter(answer => !answer.includes('Within 60 days.'))).toEqual([])
        await bucket.delete('skills/refund/SKILL.md')
        await bucket.delete('skills/refund/regions.md')
        expect(await load()).not.toContain('Within 60 days.')
        await client.close()
      }
    } finally {
      await worker.dispose()
    }
  })
})
