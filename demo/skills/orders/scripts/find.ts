import { defineCommand } from 'skillstoke/command'
import { readOrder } from './lib/order-book.ts'

export const find = defineCommand({
  name: 'find',
  description: 'Tells what is known of an order: what was bought, when, and where it is.',
  input: {
    type: 'object',
    properties: { order: { type: 'integer', description: 'Number of the order, for example 1042.' } },
    required: ['order'],
    additionalProperties: false,
  },
  hints: { readOnly: true },
  run: ({ order }) => readOrder(order),
})
