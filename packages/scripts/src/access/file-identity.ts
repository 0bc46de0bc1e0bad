import type { BigIntStats } from 'node:fs'

/**
 * Returns the identity of a file or folder. Two files have different identities even if the second file got the inode
 * of the removed first file, because it was born later.
 */
export function identityOf({ dev, ino, birthtimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${birthtimeNs}`
}
