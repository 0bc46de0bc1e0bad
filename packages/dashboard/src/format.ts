/** The first eight digits of a digest, as everywhere else. */
export function shortDigest(digest: string): string {
  return digest.replace(/^sha256:/, '').slice(0, 8)
}

const numbers = new Intl.NumberFormat('en')

export function formatCount(count: number): string {
  return numbers.format(count)
}

/** `1.2 kB`, by thousands. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}

/** The time of day at which something happened, to the second. */
export function formatTime(iso: string): string {
  return new Date(iso).toLocaleTimeString('en-GB')
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`
}
