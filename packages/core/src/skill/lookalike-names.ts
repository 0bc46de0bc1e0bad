import { quote } from '../quote.ts'
import { nameCodePoint } from './hidden-text.ts'

// Lookalikes of each ASCII letter: Cyrillic, Greek and Armenian letters, Latin letters beyond ASCII, and
// digits and capitals that can be mistaken for the letter. NFKC has already replaced fullwidth and styled letters.
const LOOKALIKES: Readonly<Record<string, string>> = {
  a: 'аАαΑɑ',
  b: 'ВΒьЬ',
  c: 'сСϲϹ',
  d: 'ԁ',
  e: 'еЕΕ',
  g: 'ɡ',
  h: 'һНΗ',
  i: 'іιı',
  j: 'јЈ',
  k: 'кКκΚ',
  l: '1IІΙӏӀǀ|',
  m: 'мМΜ',
  n: 'Νո',
  o: '0оОοΟօ',
  p: 'рРρΡ',
  q: 'ԛ',
  r: 'г',
  s: 'ѕЅ',
  t: 'тТτΤ',
  u: 'υս',
  v: 'νѵ',
  w: 'ԝω',
  x: 'хХχΧ',
  y: 'уУγΥ',
  z: 'Ζ',
  '3': 'зЗ',
  '-': '‐‒–−˗',
}

const LETTERS: ReadonlyMap<string, string> = new Map(
  Object.entries(LOOKALIKES).flatMap(([letter, others]) =>
    [...others].map(other => [other, letter] as const),
  ),
)

// Most names match `IS_PLAIN` and equal their skeleton. Most other names are ASCII, with digits that look like
// letters.
const IS_PLAIN = /^[2-9a-z-]*$/
const IS_ASCII = /^[ -~]*$/

/**
 * Returns the skeleton of a name. Names that differ only in case, style, lookalike letters or invisible characters
 * have the same skeleton.
 */
export function skeletonOf(name: string): string {
  if (IS_PLAIN.test(name)) return name
  const visible = IS_ASCII.test(name)
    ? name
    : name.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '')
  return visible.replace(/[^2-9a-z-]/gu, letter => LETTERS.get(letter) ?? letter).toLowerCase()
}

/** An index that finds names with the same appearance. */
export class LookalikeNames {
  readonly #bySkeleton = new Map<string, string | Set<string>>()

  constructor(names: Iterable<string> = []) {
    for (const name of names) this.add(name)
  }

  add(name: string): void {
    const skeleton = skeletonOf(name)
    const known = this.#bySkeleton.get(skeleton)
    // Nearly every skeleton belongs to a single name, so create a set only when a second name has the same skeleton.
    if (known === undefined) this.#bySkeleton.set(skeleton, name)
    else if (typeof known !== 'string') known.add(name)
    else if (known !== name) this.#bySkeleton.set(skeleton, new Set([known, name]))
  }

  remove(name: string): void {
    const skeleton = skeletonOf(name)
    const known = this.#bySkeleton.get(skeleton)
    if (known === name) this.#bySkeleton.delete(skeleton)
    if (typeof known !== 'object') return
    known.delete(name)
    const [only, another] = known
    if (only !== undefined && another === undefined) this.#bySkeleton.set(skeleton, only)
  }

  /** Returns the other names that look like `name`, sorted. */
  like(name: string): readonly string[] {
    const known = this.#bySkeleton.get(skeletonOf(name))
    if (known === undefined || known === name) return NONE
    return typeof known === 'string' ? [known] : [...known].filter(each => each !== name).sort()
  }
}

const NONE: readonly string[] = Object.freeze([])

/** Returns the message about a name that looks like other names, with the foreign letters of each name. */
export function describeLookalikes(name: string, others: readonly string[]): string {
  return `skill name ${showName(name)} looks like ${others.map(showName).join(' and ')}, which is another skill`
}

function showName(name: string): string {
  const foreign = [...name].filter(letter => !/[ -~]/.test(letter) && LETTERS.has(letter))
  const points = [...new Set(foreign)].map(nameCodePoint)
  return `${quote(name)}${points.length === 0 ? '' : ` (with ${points.join(' ')})`}`
}
