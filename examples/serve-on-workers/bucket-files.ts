import { adaptFileSystem, type FileSystem } from '@skillstoke/core/source'

/** The methods of an R2 bucket that this example uses. To use another object store, write an adapter with these three methods. */
export interface Bucket {
  list(options: { prefix: string; delimiter: '/'; cursor?: string }): Promise<BucketPage>
  head(key: string): Promise<BucketObject | null>
  get(key: string): Promise<{ arrayBuffer(): Promise<ArrayBuffer> } | null>
}

interface BucketObject {
  readonly key: string
  readonly size: number
  readonly uploaded: Date
}

interface BucketPage {
  readonly objects: readonly BucketObject[]
  readonly delimitedPrefixes: readonly string[]
  readonly truncated: boolean
  readonly cursor?: string
}

/**
 * Reads the objects of a bucket as files. The object with the key `skills/refund/SKILL.md` becomes the file `/skills/refund/SKILL.md`. The root folder always exists, even while the bucket is empty.
 */
export function bucketFiles(bucket: Bucket, root: string): FileSystem {
  const toKey = (path: string): string => path.replace(/^\//, '')

  async function list(path: string): Promise<{ name: string; kind: 'file' | 'directory' }[] | undefined> {
    const prefix = `${toKey(path)}/`
    const entries: { name: string; kind: 'file' | 'directory' }[] = []
    let cursor: string | undefined
    do {
      const page = await bucket.list({ prefix, delimiter: '/', ...(cursor === undefined ? {} : { cursor }) })
      for (const folder of page.delimitedPrefixes)
        entries.push({ name: folder.slice(prefix.length, -1), kind: 'directory' })
      for (const { key } of page.objects)
        if (key !== prefix) entries.push({ name: key.slice(prefix.length), kind: 'file' })
      cursor = page.truncated ? page.cursor : undefined
    } while (cursor !== undefined)
    return entries.length === 0 && path !== root ? undefined : entries
  }

  return adaptFileSystem({
    list,
    stat: async path => {
      const object = await bucket.head(toKey(path))
      if (object !== null) return { kind: 'file', size: object.size, mtimeMs: object.uploaded.getTime() }
      return (await list(path)) === undefined ? undefined : { kind: 'directory' }
    },
    read: async path => {
      const object = await bucket.get(toKey(path))
      return object === null ? undefined : new Uint8Array(await object.arrayBuffer())
    },
  })
}
