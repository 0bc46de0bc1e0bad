import { readFileSync } from 'node:fs'

export interface Order {
  readonly order: number
  readonly items: readonly string[]
  readonly total: number
  readonly currency: string
  readonly delivered: string
}

/** Orders of the demo are a file of the skill: edit it, and the next call answers from the new one. */
export function readOrder(number: number): Order {
  const text = readFileSync(new URL('../../assets/orders.json', import.meta.url), 'utf8')
  const orders = JSON.parse(text) as readonly Order[]
  const found = orders.find(({ order }) => order === number)
  if (found !== undefined) return found
  throw new Error(`there is no order ${number}; there are: ${orders.map(({ order }) => order).join(', ')}`)
}
