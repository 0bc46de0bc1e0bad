import type { Hasher } from '../host.ts'

/** `sha256:` and 64 lower-case hexadecimal digits, as in the MCP Skills extension. */
export type Digest = `sha256:${string}`

const PATTERN = /^sha256:[0-9a-f]{64}$/

export function isDigest(text: string): text is Digest {
  return PATTERN.test(text)
}

/**
 * Parses a whole digest, with or without `sha256:`. Returns `undefined` for any other text, for example for the first
 * eight digits of a digest.
 */
export function parseDigest(text: string): Digest | undefined {
  const digits = text
    .trim()
    .toLowerCase()
    .replace(/^sha256:/, '')
  const digest = `sha256:${digits}`
  return isDigest(digest) ? digest : undefined
}

export function digestOf(data: Uint8Array | string, hasher: Hasher): Digest {
  // Do not use a template literal here: V8 would keep both halves of each digest in memory until the digest is read.
  return ['sha256:', hasher.sha256(data)].join('') as Digest
}

/**
 * Returns the first eight hexadecimal digits of a digest. Use these digits only for display: a program can find two
 * texts with the same eight digits within seconds.
 */
export function shortDigest(digest: Digest): string {
  return digest.slice(7, 15)
}
