// biome-ignore-all lint/suspicious/noControlCharactersInRegex: the tests look for control characters
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { describeHiddenText, findHiddenText, showHiddenText } from './hidden-text.ts'

const tags = (text: string): string =>
  [...text].map(letter => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join('')

describe('hidden text in a skill', () => {
  test.each([
    ['tag characters', `be kind${tags('steal')}`, 'be kind<U+E0073><U+E0074><U+E0065><U+E0061><U+E006C>'],
    ['zero width', 'pay\u200bpal \u2060 \u200d x', 'pay<U+200B>pal <U+2060> <U+200D> x'],
    ['a joiner between Latin letters', 'p\u200dd\u200cf', 'p<U+200D>d<U+200C>f'],
    ['several joiners in a word of Arabic', 'می\u200c\u200cخواهم', 'می<U+200C><U+200C>خواهم'],
    ['bidirectional', 'a\u202eb\u2066c\u200fd\u061ce', 'a<U+202E>b<U+2066>c<U+200F>d<U+061C>e'],
    ['variation selectors', 'a\ufe0f b\ufe00 1\ufe0f', 'a<U+FE0F> b<U+FE00> 1<U+FE0F>'],
    ['bytes behind an emoji', '😀\u{e0101}\u{e0142}', '😀<U+E0101><U+E0142>'],
    ['a second selector', '❤\ufe0f\ufe0f', '❤\ufe0f<U+FE0F>'],
    ['Hangul fillers', 'a\u3164b\u115fc\uffa0', 'a<U+3164>b<U+115F>c<U+FFA0>'],
    ['soft hyphens, joiners of graphemes, Braille', 'a\u00adb\u034fc\u2800', 'a<U+00AD>b<U+034F>c<U+2800>'],
    ['a byte order mark within', 'a\ufeffb', 'a<U+FEFF>b'],
    ['controls', 'a\u001b[31mb\u009bc\u0000', 'a<U+001B>[31mb<U+009B>c<U+0000>'],
    ['separators and annotations', 'a\u2028b\u2029c\ufff9', 'a<U+2028>b<U+2029>c<U+FFF9>'],
    ['other tags behind a black flag', `🏴${tags('usca')}\u{e007f}`, expect.stringContaining('🏴<U+E0075>')],
    ['music', '\u{1d173}x', '<U+1D173>x'],
  ])('%s', (_, text, shown) => {
    expect(showHiddenText(text)).toEqual(shown)
  })

  test.each([
    ['ASCII', 'a\tb\r\nc\fd'],
    ['a byte order mark', '\ufeff---\nname: x'],
    ['Persian', 'می\u200cخواهم'],
    ['Hindi and Sinhala', 'क्\u200dष श्\u200dरී ක්\u200dෂ'],
    ['the end of an Arabic number', '۱۴۰۰ ه\u200d.'],
    ['Malayalam', 'ന്\u200d അവൻ'],
    ['Khmer and Thai', 'ភាសា\u200bខ្មែរ ภาษา\u200bไทย'],
    ['Mongolian', 'ᠠ\u180b'],
    ['emoji', '✅ ⚠️ ❤️ ✔︎ ©️ 1️⃣ #️⃣ 🇩🇪 👍🏽 ☝🏽 🏳️‍🌈 👩‍💻 👩🏽‍🚀 👨‍👩‍👧‍👦 ❤️‍🔥 🏴‍☠️ 🧔‍♂️ 🐈‍⬛ 👁️‍🗨️ ⛹🏽‍♀️'],
    ['flags', `🏴${tags('gbeng')}\u{e007f}🏴${tags('gbsct')}\u{e007f}🏴${tags('gbwls')}\u{e007f}`],
    ['typography', 'naïve – “quotes” … → 日本語 ½ ① \u00a0 \u3000 کتاب עברית ०१ \u0600'],
  ])('reports nothing in %s', (_, text) => {
    expect(findHiddenText(text)).toEqual([])
    expect(showHiddenText(text)).toBe(text.replace('\ufeff', '<U+FEFF>'))
  })

  test('findHiddenText() accepts every emoji with a selector, and reports single tags, selectors and joiners', () => {
    const hidden: string[] = []
    for (let point = 0x80; point < 0x110000; point++) {
      if (point >= 0xd800 && point < 0xe000) continue
      const character = String.fromCodePoint(point)
      if (/(?![0-9#*])\p{Emoji}/u.test(character)) {
        expect(findHiddenText(`${character}\ufe0f`)).toEqual([])
      }
      if (findHiddenText(`x${character}x`).length > 0) hidden.push(character)
    }
    const ignorable = /[\p{Default_Ignorable_Code_Point}\p{Cc}\u2028\u2029\u2800\ufff9-\ufffb]/u
    expect(hidden.every(character => ignorable.test(character))).toBe(true)
    for (const [from, to] of [
      [0xe0000, 0xe0fff],
      [0xfe00, 0xfe0f],
      [0x200b, 0x200f],
      [0x202a, 0x202e],
      [0x2060, 0x206f],
      [0x80, 0x9f],
    ] as const)
      for (let point = from; point <= to; point++) expect(hidden).toContain(String.fromCodePoint(point))
  })

  test('findHiddenText() returns the position and the code points of hidden characters', () => {
    expect(findHiddenText(`a\nbc\u200bd\r\n${tags('hey')}`)).toEqual([
      { index: 4, length: 1, line: 2, column: 3, shown: 'U+200B' },
      { index: 8, length: 6, line: 3, column: 1, shown: 'U+E0068 to U+E0079 (3 characters)' },
    ])
  })

  test('findHiddenText() finds exactly the characters that showHiddenText() writes out', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.constantFrom('\u200b', tags('x'), '\ufe0f', ''),
        (text, more) => {
          const whole = `x${text}${more}${text}`
          const shown = showHiddenText(whole)
          const found = findHiddenText(whole)
          const visible = found.reduceRight(
            (rest, { index, length }) => rest.slice(0, index) + rest.slice(index + length),
            whole,
          )
          expect(shown.replace(/<U\+[0-9A-F]{4,6}>/g, '')).toBe(visible.replace(/<U\+[0-9A-F]{4,6}>/g, ''))
        },
      ),
    )
  })
})

test('describeHiddenText() reports the first places with hidden text, and says how many more places follow', () => {
  const diagnostics = describeHiddenText('\u200bx\n'.repeat(20))
  expect(diagnostics).toHaveLength(6)
  expect(diagnostics[1]).toMatchObject({
    code: 'HIDDEN_TEXT',
    severity: 'warning',
    line: 2,
    column: 1,
    message: 'U+200B: invisible characters',
  })
  expect(diagnostics[5]).toMatchObject({
    line: 6,
    message: '15 more places with invisible characters',
  })
})
