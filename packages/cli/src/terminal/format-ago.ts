const UNITS = [
  [86_400_000, 'day', 'days'],
  [3_600_000, 'h', 'h'],
  [60_000, 'min', 'min'],
] as const

/** Returns how long ago a time was, for example `2 min ago`. */
export function formatAgo(time: number, now: number = Date.now()): string {
  const ms = now - time
  const [size, one, many] = UNITS.find(([unit]) => ms >= unit) ?? []
  if (size === undefined) return ms < 5_000 ? 'just now' : `${Math.floor(ms / 1_000)} s ago`
  const count = Math.floor(ms / size)
  return `${count} ${count === 1 ? one : many} ago`
}
