// No named import: on an old Node, the import would fail before `assertSupported` can name the needed version.
import crypto from 'node:crypto'
import type { Hasher } from '../source-entry.ts'

/**
 * SHA-256 with Node's own implementation.
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory, nodeHasher } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')], tuning: { hasher: nodeHasher } })
 * console.log(skills.current.get('support-pdf').revision.startsWith('sha256:')) // prints true
 * ```
 */
export const nodeHasher: Hasher = {
  sha256: data => crypto.hash('sha256', data, 'hex'),
}
