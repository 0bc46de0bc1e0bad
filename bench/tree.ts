import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

const VOCABULARY = 3_000
const SYLLABLES = 'ba co di fe gu ha jo ki le mu na po qui re si ta vo wa xe zu'.split(' ')

/** A folder of realistic skills, each with a SKILL.md of 4.6 KB, a reference and a script. Disposing removes it. */
export class Tree implements Disposable {
  readonly path: string
  readonly size: number

  private constructor(path: string, size: number) {
    this.path = path
    this.size = size
  }

  /**
   * Creates the tree, and waits until the files are old enough to have reliable times. A flat tree has one folder per skill instead
   * of two, so that Linux can watch twice as many skills.
   */
  static async make(size: number, isFlat = false): Promise<Tree> {
    // The watch on the parent folder takes 25 ms if that folder has many entries, as the folder for temporary files has.
    const path = join(mkdtempSync(join(tmpdir(), 'skillstoke-bench-')), 'skills')
    mkdirSync(path)
    const tree = new Tree(path, size)
    const script = isFlat ? 'main.ts' : 'scripts/main.ts'
    for (let i = 0; i < size; i++) {
      mkdirSync(dirname(join(tree.path, nameOf(i), script)), { recursive: true })
      tree.save(i, 'first')
      writeFileSync(join(tree.path, nameOf(i), 'reference.md'), `Reference ${i}.\n`.repeat(60))
      writeFileSync(join(tree.path, nameOf(i), script), `export const index = ${i}\n`)
    }
    await setTimeout(2_500)
    return tree
  }

  fileOf(index: number): string {
    return join(this.path, nameOf(index), 'SKILL.md')
  }

  /** Writes the SKILL.md of a skill. The body contains `mark`. */
  save(index: number, mark: string): void {
    writeFileSync(this.fileOf(index), textOf(index, mark))
  }

  [Symbol.dispose](): void {
    rmSync(dirname(this.path), { recursive: true, force: true })
  }
}

export function nameOf(index: number): string {
  return `skill-${String(index).padStart(5, '0')}`
}

/** Returns 34 words with the word frequencies of natural text (Zipf): a few words are common, most words are rare. */
export function descriptionOf(index: number): string {
  let seed = index * 2_654_435_761 + 1
  const next = (): number => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    return seed / 2 ** 32
  }
  const words = Array.from({ length: 34 }, () => wordOf(Math.floor(VOCABULARY ** next())))
  return `Number ${index} ${words.join(' ')}.`
}

/** Returns the word with a rank. The most frequent word has rank 1. */
export function wordOf(rank: number): string {
  let word = ''
  for (let rest = rank; rest > 0; rest = Math.floor(rest / SYLLABLES.length))
    word += SYLLABLES[rest % SYLLABLES.length]
  return word
}

export function textOf(index: number, mark: string): string {
  return `---\nname: ${nameOf(index)}\ndescription: ${descriptionOf(index)}\nlicense: MIT\n---\n# ${mark}\n\n${'Some lines of instructions.\n'.repeat(160)}`
}
