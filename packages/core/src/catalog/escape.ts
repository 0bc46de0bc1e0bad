const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#x27;',
}

// Matches line breaks of all kinds, and invisible characters. In a catalog, only an attacker who forges structure needs
// invisible characters.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern replaces control characters
const BREAKS = /[\u0000-\u0020\u007f-\u00a0\u2028\u2029\u{E0000}-\u{E007F}\p{Bidi_Control}]+/gu

// Matches non-ASCII text, the five special characters of XML, and spaces that must be collapsed. A text that this
// pattern does not match needs no escaping.
const NEEDS_WORK = /[^ !#-%(-;=?-~]| {2}|^ | $/

/**
 * Turns an author's text into one line of escaped XML, so that the text cannot open or close an element. The line can
 * also be used as an attribute value.
 */
export function escapeText(text: string): string {
  if (!NEEDS_WORK.test(text)) return text
  return text
    .replace(BREAKS, ' ')
    .trim()
    .replace(/[&<>"']/g, character => ENTITIES[character] as string)
}

// A model recognises a tag even if invisible characters are between the letters of the tag.
const NOTHING = String.raw`[\s\p{Default_Ignorable_Code_Point}]*`

/**
 * Escapes every end tag in an author's text, so that the text can be used inside the tag. All other characters stay.
 * Appending eight digits of the text's digest to the tag name would not be safe, because an attacker can find a text
 * with the same eight digits in seconds.
 */
export function escapeEndTag(text: string, tag: string): string {
  const spread = ['/', ...tag].join(NOTHING)
  return text.replace(
    new RegExp(`<(?=${NOTHING}${spread}(?!\\p{Default_Ignorable_Code_Point}*[\\w-]))`, 'giu'),
    '&lt;',
  )
}
