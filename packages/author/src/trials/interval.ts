const Z = 1.96

/**
 * Returns the 95 % interval of a share, from the number of successes and of runs. Source: the score interval of Wilson (1927), which
 * holds for small numbers, too.
 */
export function toInterval(successes: number, runs: number): readonly [low: number, high: number] {
  if (runs === 0) return [0, 1]
  const share = successes / runs
  const scale = 1 + Z ** 2 / runs
  const middle = (share + Z ** 2 / (2 * runs)) / scale
  const half = (Z * Math.sqrt((share * (1 - share)) / runs + Z ** 2 / (4 * runs ** 2))) / scale
  return [Math.max(0, middle - half), Math.min(1, middle + half)]
}
