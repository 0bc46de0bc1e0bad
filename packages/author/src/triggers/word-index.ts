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

  constructor(vectors: readonly WordVector[]) {
    this.#products = new Float64Array(vectors.length)
    for (const [place, vector] of vectors.entries())
      for (const [word, weight] of vector) {
        const posting = this.#postings.get(word) ?? { places: [], weights: [] }
        this.#postings.set(word, posting)
        posting.places.push(place)
        posting.weights.push(weight)
      }
  }

  /** Returns the places of the vectors whose product with a vector is at least `least`, with the product. */
  find(vector: WordVector, least: number): readonly (readonly [place: number, product: number])[] {
    const found: number[] = []
    for (const [word, weight] of vector) this.#add(word, weight, found)
    return found.flatMap(place => {
      const product = this.#products[place] as number
      this.#products[place] = 0
      return product >= least ? [[place, product]] : []
    })
  }

  #add(word: string, weight: number, found: number[]): void {
    const { places, weights } = this.#postings.get(word) ?? { places: [], weights: [] }
    for (const [index, place] of places.entries()) {
      if (this.#products[place] === 0) found.push(place)
      this.#products[place] = (this.#products[place] as number) + weight * (weights[index] as number)
    }
  }
}
