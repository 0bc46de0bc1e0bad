// Serves the skills of an R2 bucket over MCP on Cloudflare Workers. The next request after an upload to the bucket sees the uploaded skills.
import { createSkillRuntime, type SkillRuntime } from '@skillstoke/core'
import { FileSource } from '@skillstoke/core/source'
import { SkillMcp } from '@skillstoke/mcp'
import { type Bucket, bucketFiles } from './bucket-files.ts'

const ROOT = '/skills'

interface Env {
  readonly BUCKET: Bucket
  readonly TOKEN: string
  readonly SKILLS: { getByName(name: string): { fetch(request: Request): Promise<Response> } }
}

/** One Durable Object contains the runtime for all requests, because one request must not wait for the I/O of another request. */
export class SkillsObject {
  readonly #skills: Promise<SkillRuntime>
  readonly #mcp: Promise<SkillMcp>

  constructor(_state: unknown, { BUCKET }: Env) {
    this.#skills = createSkillRuntime({
      // A bucket does not report changes, so each request lists the objects and compares the list with the previous list.
      sources: [
        new FileSource({
          fileSystem: bucketFiles(BUCKET, ROOT),
          root: ROOT,
          label: 'bucket',
          watching: 'off',
        }),
      ],
    })
    this.#mcp = this.#skills.then(skills => new SkillMcp(skills, { name: 'bucket-skills', version: '1.0.0' }))
  }

  async fetch(request: Request): Promise<Response> {
    const [skills, mcp] = await Promise.all([this.#skills, this.#mcp])
    await skills.reload()
    return await mcp.fetch(request)
  }
}

// biome-ignore lint/style/noDefaultExport: Workers require it
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    if (request.headers.get('authorization') !== `Bearer ${env.TOKEN}`)
      return new Response('the token is missing or wrong', { status: 401 })
    return await env.SKILLS.getByName('all').fetch(request)
  },
}
