// The part of Cloudflare's types that the example uses. The package `@cloudflare/workers-types` declares globals that
// conflict with those of Node.

declare module 'cloudflare:workers' {
  export class DurableObject<Env = unknown> {
    protected readonly ctx: { readonly storage: Storage }
    protected readonly env: Env
    constructor(ctx: { readonly storage: Storage }, env: Env)
  }

  interface Storage {
    get<Value>(key: string): Promise<Value | undefined>
    put(key: string, value: unknown): Promise<void>
  }
}

/** What `wrangler types` writes for the settings of the page. */
interface Env {
  readonly BUCKET: R2Bucket
  readonly MODEL_URL: string
  readonly MODEL_KEY: string
}

interface R2Bucket {
  list(options: { prefix: string; delimiter: '/'; cursor?: string }): Promise<R2Page>
  head(key: string): Promise<R2Object | null>
  get(key: string): Promise<{ arrayBuffer(): Promise<ArrayBuffer> } | null>
}

interface R2Object {
  readonly key: string
  readonly size: number
  readonly uploaded: Date
}

interface R2Page {
  readonly objects: readonly R2Object[]
  readonly delimitedPrefixes: readonly string[]
}
