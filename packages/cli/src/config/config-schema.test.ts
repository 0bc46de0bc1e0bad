import { expect, test } from 'vitest'
import { toJsonSchema } from './config-schema.ts'

test('the shipped JSON Schema is the one that files are checked against', async () => {
  const schema = { $id: 'skillstoke.schema.json', ...toJsonSchema() }
  await expect(`${JSON.stringify(schema, undefined, 2)}\n`).toMatchFileSnapshot(
    '../../skillstoke.schema.json',
  )
})
