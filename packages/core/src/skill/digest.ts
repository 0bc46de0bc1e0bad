import type { Hasher } from '../host.ts'

/** `sha256:` and 64 lower-case hexadecimal digits, as in the MCP Skills extension. */
export type Digest = `sha256:${string}`

const PATTERN = /^sha256:[0-9a-f]{64}$/

export function isDigest(text: string): text is Digest {
  return PATTERN.test(text)
}

export function digestOf(data: Uint8Array | string, hasher: Hasher): Digest {
  return `sha256:${hasher.sha256(data)}`
}

/** The first eight hexadecimal digits: for people and models to read, never to compare by machine. */
export function shortDigest(digest: Digest): string {
  return digest.slice(7, 15)
}
