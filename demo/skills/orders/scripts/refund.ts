import { defineCommand } from 'skillstoke/command'
import { readOrder } from './lib/order-book.ts'

const DAYS = 30

export const refund = defineCommand({
  name: 'refund',
  description: 'Works out what a customer gets back for an order, and until when.',
  input: {
    type: 'object',
    properties: {
      order: { type: 'integer', description: 'Number of the order, for example 1042.' },
      condition: {
        type: 'string',
        enum: ['unused', 'used', 'damaged'],
        description: 'How the goods come back.',
      },
    },
    required: ['order', 'condition'],
    additionalProperties: false,
  },
  hints: { readOnly: true },
  run({ order, condition }, { progress }) {
    progress(1, 2, 'reading the order book')
    const { total, currency, delivered } = readOrder(order)
    progress(2, 2, 'working out the amount')
    const share = { unused: 1, used: 0.5, damaged: 0 }[condition]
    const until = new Date(Date.parse(delivered) + DAYS * 86_400_000).toISOString().slice(0, 10)
    return { amount: Math.round(total * share * 100) / 100, currency, until }
  },
})
