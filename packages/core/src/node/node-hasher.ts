import { hash } from 'node:crypto'
import type { Hasher } from '../source-entry.ts'

/** SHA-256 with Node's own implementation. */
export const nodeHasher: Hasher = {
  sha256: data => hash('sha256', data, 'hex'),
}
