import fc from 'fast-check'
import { expect, test } from 'vitest'
import { escapeEndTag } from './escape.ts'

const TAG = 'skill_a1b2c3d4'
const ends = fc.constantFrom(
  `</${TAG}>`,
  `</${TAG.toUpperCase()} >`,
  `< / ${TAG}\n>`,
  `<\u200b/\u{E0041}${TAG}>`,
  `<</${TAG}>`,
  `</${TAG}`,
  `</sk\u200bill_${TAG.slice(6)}>`,
  `</ skill_a1b2\u{E0041}c3d4>`,
)
const foreign = fc.array(fc.oneof(ends, fc.string({ unit: 'binary' }), fc.constantFrom('<', '/', TAG)), {
  maxLength: 8,
})

test('escapeEndTag() escapes every end tag of the given name and changes nothing else', () => {
  fc.assert(
    fc.property(foreign, parts => {
      const body = parts.join('')
      const escaped = escapeEndTag(body, TAG)
      const visible = `${escaped}\n</${TAG}>`
        .replace(/[\s\p{Default_Ignorable_Code_Point}]/gu, '')
        .toLowerCase()
      expect(visible.indexOf(`</${TAG}>`)).toBe(visible.length - TAG.length - 3)
      const back = new RegExp(
        `&lt;(?=${['', '/', ...TAG].join('[\\s\\p{Default_Ignorable_Code_Point}]*')})`,
        'giu',
      )
      expect(escaped.replace(back, '<')).toBe(body.replace(back, '<'))
    }),
    { numRuns: 2_000 },
  )
})

test('escapeEndTag() keeps end tags of other names, even if the name only begins with the given name', () => {
  const text = '</skills> </skill-x> </skill_1> <skill> a < b / skill'
  expect(escapeEndTag(text, 'skill')).toBe(text)
  expect(escapeEndTag('</SKILL> </skill name>', 'skill')).toBe('&lt;/SKILL> &lt;/skill name>')
})
