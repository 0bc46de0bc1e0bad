/** Whether a path in a skill is its SKILL.md. */
export function isSkillFile(path: string): boolean {
  return /^skill\.md$/i.test(path)
}

/** Returns the first eight digits of a digest. */
export function shortDigest(digest: string): string {
  return digest.replace(/^sha256:/, '').slice(0, 8)
}

const numbers = new Intl.NumberFormat('en')

export function formatCount(count: number): string {
  return numbers.format(count)
}

/** Formats a number in at most four characters: `980`, `2.1k`, `13k`. */
export function formatShort(count: number): string {
  if (count < 1_000) return String(count)
  return count < 9_950 ? `${(count / 1_000).toFixed(1)}k` : `${Math.round(count / 1_000)}k`
}

/** Formats a size such as `1.2 kB`, with 1 kB = 1,000 bytes. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`
}
