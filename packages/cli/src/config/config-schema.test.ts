import { expect, test } from 'vitest'
import { toJsonSchema } from './config-schema.ts'

test('the published JSON Schema matches the schema that checks configuration files', async () => {
  const schema = { $id: 'skillstoke.schema.json', ...toJsonSchema() }
  await expect(`${JSON.stringify(schema, undefined, 2)}\n`).toMatchFileSnapshot(
    '../../skillstoke.schema.json',
  )
})
