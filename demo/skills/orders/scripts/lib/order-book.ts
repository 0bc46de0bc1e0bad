import { readFileSync } from 'node:fs'

export interface Order {
  readonly order: number
  readonly items: readonly string[]
  readonly total: number
  readonly currency: string
  readonly delivered: string
}

/** Reads an order from a file of the skill. After an edit of the file, the next call answers from the new file. */
export function readOrder(number: number): Order {
  const text = readFileSync(new URL('../../assets/orders.json', import.meta.url), 'utf8')
  const orders = JSON.parse(text) as readonly Order[]
  const found = orders.find(({ order }) => order === number)
  if (found !== undefined) return found
  throw new Error(`there is no order ${number}; there are: ${orders.map(({ order }) => order).join(', ')}`)
}
