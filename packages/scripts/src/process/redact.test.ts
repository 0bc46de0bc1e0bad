import { PassThrough } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Output } from './output.ts'
import { createRedaction } from './redact.ts'

const SECRET = 'tok-5ecr3t/with+odd=letters'
const redaction = createRedaction({ TOKEN: SECRET })

/** Every part of the secret that is long enough to reveal something. */
const pieces = Array.from({ length: SECRET.length - 7 }, (_, start) => SECRET.slice(start, start + 8))
const tells = (text: string): boolean => pieces.some(piece => text.includes(piece))

describe('createRedaction()', () => {
  test('redaction finds a secret at any position in a Base64 text', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (before, after) => {
        for (const kind of ['base64', 'base64url'] as const) {
          const text = Buffer.from(`${before}${SECRET}${after}`).toString(kind)
          // One letter at each end may stay in the text, because it also contains bits of the neighbouring character.
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
    'redaction finds a secret in Base64 and hexadecimal text whose lines are separated by %j',
    end => {
      const text = `${'before '.repeat(20)}${SECRET}${' after'.repeat(20)}`
      for (const encoded of [Buffer.from(text).toString('base64'), Buffer.from(text).toString('hex')])
        for (const width of [16, 64, 76]) {
          const wrapped = encoded.replace(new RegExp(`.{${width}}`, 'g'), line => `${line}${end}`)
          expect(redaction.text(wrapped)).toContain('[redacted TOKEN]')
        }
    },
  )

  test('redaction does not change a text without a secret, not even its colour codes', () => {
    expect(redaction.text('\u001b[31mred\u001b[0m tok-5')).toBe('\u001b[31mred\u001b[0m tok-5')
  })

  test('redaction changes every text in a value, including field names', () => {
    const value = JSON.parse(`{"a":[{"${SECRET}":"x${SECRET}"},7,null],"__proto__":true}`) as unknown
    expect(JSON.stringify(redaction.value(value))).toBe(
      '{"a":[{"[redacted TOKEN]":"x[redacted TOKEN]"},7,null],"__proto__":true}',
    )
  })
})

describe('an output', () => {
  test('an output reveals no part of a secret, regardless of its chunks and its limit', async () => {
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

  test('an output reveals no part of a secret that is wrapped into lines, regardless of its limit', async () => {
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

  test('an unfinished line of output reveals no part of a secret that it contains', async () => {
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
