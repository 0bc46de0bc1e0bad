import type { SkillRow, SkillTokens } from 'skillstoke/client'

/** Returns the first eight digits of a digest. */
export function shortDigest(digest: string): string {
  return digest.replace(/^sha256:/, '').slice(0, 8)
}

const numbers = new Intl.NumberFormat('en')

export function formatCount(count: number): string {
  return numbers.format(count)
}

/** Formats a size such as `1.2 kB`, with 1 kB = 1,000 bytes. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}

/** Formats the time of day, to the second. */
export function formatTime(iso: string): string {
  return new Date(iso).toLocaleTimeString('en-GB')
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`
}

/** Returns the tokens of the entry in the catalog and of the instructions, or why the catalog has no entry. */
export function formatTokens({ listed, body }: SkillTokens, visibility: SkillRow['visibility']): string {
  if (visibility === 'listed') return `${formatCount(listed)} + ${formatCount(body)} tokens`
  return `${visibility ?? 'out of scope'}, ${formatCount(body)} tokens`
}
