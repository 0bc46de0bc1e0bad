/** Words with their weights. */
export type WordVector = ReadonlyMap<string, number>

/** The vectors that have one word: their places, and the weights of the word. */
interface Posting {
  readonly places: number[]
  readonly weights: number[]
}

/** An inverted index. Only vectors that share a word with the wanted one are looked at. */
export class WordIndex {
  readonly #postings = new Map<string, Posting>()
  /** The products of one search, in an array because a map of them is several times slower. */
  readonly #products: Float64Array
  #size = 0

  /** @param size the largest number of vectors */
  constructor(size: number) {
    this.#products = new Float64Array(size)
  }

  add(vector: WordVector): void {
    const place = this.#size++
    for (const [word, weight] of vector) {
      const posting = this.#postings.get(word) ?? { places: [], weights: [] }
      if (posting.places.length === 0) this.#postings.set(word, posting)
      posting.places.push(place)
      posting.weights.push(weight)
    }
  }

  /** Returns the places of the vectors whose product with a vector is at least `least`, with the product. */
  find(vector: WordVector, least: number): readonly (readonly [place: number, product: number])[] {
    const touched: number[] = []
    for (const [word, weight] of vector) this.#multiply(this.#postings.get(word), weight, touched)
    const found: [place: number, product: number][] = []
    for (const place of touched) {
      const product = this.#products[place] as number
      if (product >= least) found.push([place, product])
      this.#products[place] = 0
    }
    return found
  }

  #multiply(posting: Posting | undefined, weight: number, touched: number[]): void {
    if (posting === undefined) return
    const { places, weights } = posting
    // An indexed loop, because an iterator takes several times as long.
    for (let index = 0; index < places.length; index++) {
      const place = places[index] as number
      const product = this.#products[place] as number
      if (product === 0) touched.push(place)
      this.#products[place] = product + weight * (weights[index] as number)
    }
  }
}
