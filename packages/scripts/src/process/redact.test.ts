import { PassThrough } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Output } from './output.ts'
import { createRedaction } from './redact.ts'

const SECRET = 'tok-5ecr3t/with+odd=letters'
const redaction = createRedaction({ TOKEN: SECRET })

/** All parts of the secret that are long enough to reveal something. */
const pieces = Array.from({ length: SECRET.length - 7 }, (_, start) => SECRET.slice(start, start + 8))
const tells = (text: string): boolean => pieces.some(piece => text.includes(piece))

describe('createRedaction()', () => {
  test('a secret is found at any position in Base64', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (before, after) => {
        for (const kind of ['base64', 'base64url'] as const) {
          const text = Buffer.from(`${before}${SECRET}${after}`).toString(kind)
          // At most one letter on each side may stay, because it also contains bits of the neighbouring character.
          const left = redaction.text(text)
          expect(left).toContain('[redacted TOKEN]')
          expect(left.length - '[redacted TOKEN]'.length).toBeLessThanOrEqual(
            Math.ceil(((Buffer.byteLength(before) + Buffer.byteLength(after)) * 8) / 6) + 6,
          )
        }
      }),
    )
  })

  test.each([
    ['hexadecimal', Buffer.from(SECRET).toString('hex')],
    ['upper-case hexadecimal', Buffer.from(SECRET).toString('hex').toUpperCase()],
    ['a URL', encodeURIComponent(SECRET)],
    ['a URL with lower-case digits', encodeURIComponent(SECRET).replace(/%../g, code => code.toLowerCase())],
    ['a form', new URLSearchParams({ '': SECRET }).toString().slice(1)],
    ['invisible characters in between', `${SECRET.slice(0, 9)}\u001b[0m${SECRET.slice(9)}`],
    ['NUL in between', `${SECRET.slice(0, 4)}\0${SECRET.slice(4)}`],
  ])('finds a secret in %s', (_, text) => {
    expect(redaction.text(`a ${text} b`)).toBe('a [redacted TOKEN] b')
  })

  test.each(['\n', '\r\n', '\n  ', '\\n'])(
    'a secret is found in Base64 and hexadecimal whose lines are wrapped with %j',
    end => {
      const text = `${'before '.repeat(20)}${SECRET}${' after'.repeat(20)}`
      for (const encoded of [Buffer.from(text).toString('base64'), Buffer.from(text).toString('hex')])
        for (const width of [16, 64, 76]) {
          const wrapped = encoded.replace(new RegExp(`.{${width}}`, 'g'), line => `${line}${end}`)
          expect(redaction.text(wrapped)).toContain('[redacted TOKEN]')
        }
    },
  )

  test('text without a secret stays unchanged, including its colour codes', () => {
    expect(redaction.text('\u001b[31mred\u001b[0m tok-5')).toBe('\u001b[31mred\u001b[0m tok-5')
  })

  test('all texts of a value are redacted, including field names', () => {
    const value = JSON.parse(`{"a":[{"${SECRET}":"x${SECRET}"},7,null],"__proto__":true}`) as unknown
    expect(JSON.stringify(redaction.value(value))).toBe(
      '{"a":[{"[redacted TOKEN]":"x[redacted TOKEN]"},7,null],"__proto__":true}',
    )
  })
})

describe('an output', () => {
  test('an output reveals no part of a secret, for any chunks and any limit', async () => {
    const piece = fc.oneof(
      fc.constant(SECRET),
      fc.constant(`${SECRET}\n`),
      fc.integer({ min: 1, max: 200 }).map(length => 'x'.repeat(length)),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 20, max: 2_000 }),
        async (parts, step, limit) => {
          const stream = new PassThrough()
          const lines: string[] = []
          const output = new Output(stream, limit, redaction, text => void lines.push(text))
          const text = parts.join('')
          for (let at = 0; at < text.length; at += step) stream.write(text.slice(at, at + step))
          stream.end()
          await output.ended
          expect(tells(`${lines.join('\n')}\n${output.text}`)).toBe(false)
        },
      ),
    )
  })

  test('an output reveals no part of a wrapped secret, for any limit', async () => {
    const secret = Array.from({ length: 90 }, (_, index) => ((index * 7) % 36).toString(36)).join('')
    const bytes = Buffer.from(secret)
    for (const encoded of [bytes.toString('base64'), bytes.toString('hex')])
      for (const end of ['\n', '\r\n', '\n  ', '\\n']) {
        const text = `x\n${encoded.replace(/.{16}/g, line => `${line}${end}`)}`
        for (let limit = 3; limit < text.length; limit++) {
          const stream = new PassThrough()
          const output = new Output(stream, limit, createRedaction({ TOKEN: secret }), () => undefined)
          stream.end(text)
          await output.ended
          expect(output.text.trimEnd()).toMatch(/^x(?:\s*\[redacted TOKEN\].{0,2})?$/s)
        }
      }
  })

  test('an unfinished line reveals no part of a secret in its middle', async () => {
    const stream = new PassThrough()
    const lines: string[] = []
    const output = new Output(stream, 1_000_000, redaction, text => void lines.push(text))
    stream.write(`${'x'.repeat(65_530)}${SECRET.slice(0, 12)}`)
    stream.end(`${SECRET.slice(12)} and more`)
    await output.ended
    expect(lines.join('')).toBe(`${'x'.repeat(65_530)}[redacted TOKEN] and more`)
    expect(lines).toHaveLength(2)
  })
})
