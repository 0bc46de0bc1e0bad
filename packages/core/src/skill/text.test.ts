import { expect, test } from 'vitest'
import { decodeAnyText, decodePlainText, decodeStrictText, decodeText, decodeUnmarkedText } from './text.ts'

const MARKED = new Uint8Array([0xef, 0xbb, 0xbf, 0x61])
const BROKEN = new Uint8Array([0x61, 0xff])
const BINARY = new Uint8Array([0x61, 0])

test('decodeText() refuses other encodings and keeps the byte order mark', () => {
  expect([decodeText(MARKED), decodeText(BROKEN)]).toEqual(['\ufeffa', undefined])
})

test('decodeAnyText() reads any bytes and keeps the byte order mark', () => {
  expect([decodeAnyText(MARKED), decodeAnyText(BROKEN)]).toEqual(['\ufeffa', 'a\ufffd'])
})

test('decodeUnmarkedText() removes the byte order mark', () => {
  expect([decodeUnmarkedText(MARKED), decodeUnmarkedText(BROKEN)]).toEqual(['a', 'a\ufffd'])
})

test('decodeStrictText() refuses other encodings and removes the byte order mark', () => {
  expect([decodeStrictText(MARKED), decodeStrictText(BROKEN)]).toEqual(['a', undefined])
  expect(decodeStrictText(BINARY)).toBe('a\0')
})

test('decodePlainText() also refuses the bytes of a binary file', () => {
  expect([decodePlainText(MARKED), decodePlainText(BROKEN)]).toEqual(['a', undefined])
  expect(decodePlainText(BINARY)).toBeUndefined()
})
