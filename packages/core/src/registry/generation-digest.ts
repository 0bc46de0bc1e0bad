import type { Hasher } from '../host.ts'
import { type Digest, digestOf } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'

const BUCKETS = 256

/**
 * Maintains the digest of the served skills. The cost of an update does not grow with the number of skills.
 *
 * The digest is defined as follows, so that it is the same on every machine. The bucket of a skill is FNV-1a (32 bits, over the
 * UTF-16 units of its name) modulo 256. A bucket's digest is SHA-256 over the lines `name NUL label NUL revision LF` of its
 * skills, sorted by their UTF-16 units. An empty bucket has the digest of an empty text. The digest of the generation is
 * SHA-256 over the 256 hexadecimal bucket digests in order.
 */
export class GenerationDigest {
  readonly #hasher: Hasher
  readonly #lines: Map<string, string>[] = Array.from({ length: BUCKETS }, () => new Map())
  readonly #digests: string[] = new Array<string>(BUCKETS).fill('')

  readonly #touched = new Set<number>()

  constructor(hasher: Hasher) {
    this.#hasher = hasher
  }

  /** Sets the skill that is served under a name. `undefined` removes the name. */
  put(name: string, skill: Skill | undefined): void {
    const bucket = bucketOf(name)
    this.#touched.add(bucket)
    const lines = this.#lines[bucket] as Map<string, string>
    if (skill === undefined) lines.delete(name)
    else lines.set(name, `${name}\0${skill.source}\0${skill.revision}\n`)
  }

  /** Computes the digest of all served skills. */
  compute(): Digest {
    for (const bucket of this.#touched) {
      const lines = [...(this.#lines[bucket] as Map<string, string>).values()]
      this.#digests[bucket] = lines.length === 0 ? '' : this.#hasher.sha256(lines.sort().join(''))
    }
    this.#touched.clear()
    return digestOf(this.#digests.join('\n'), this.#hasher)
  }
}

function bucketOf(name: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
  return (hash >>> 0) % BUCKETS
}
