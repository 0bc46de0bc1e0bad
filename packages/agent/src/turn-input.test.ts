import { expect, test } from 'vitest'
import { toStorable } from './turn-input.ts'

test('toStorable() replaces bytes by base64 text, and addresses by text', () => {
  const bytes = new TextEncoder().encode('xhellox').subarray(1, 6)
  const file = { type: 'file', mediaType: 'image/png' }
  expect(
    toStorable([
      { type: 'text', text: 'Hello.', providerOptions: { any: [1, true, null] } },
      { ...file, data: bytes },
      { ...file, data: Buffer.from('hello') },
      { ...file, data: bytes.slice().buffer },
      { ...file, data: { type: 'url', url: new URL('https://example.com/a.png') } },
    ]),
  ).toEqual([
    { type: 'text', text: 'Hello.', providerOptions: { any: [1, true, null] } },
    { ...file, data: 'aGVsbG8=' },
    { ...file, data: 'aGVsbG8=' },
    { ...file, data: 'aGVsbG8=' },
    { ...file, data: { type: 'url', url: 'https://example.com/a.png' } },
  ])
})
