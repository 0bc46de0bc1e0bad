const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#x27;',
}

// Line breaks of every kind and invisible characters. In a catalog they could only forge structure.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern replaces control characters
const BREAKS = /[\u0000-\u0020\u007f-\u00a0\u2028\u2029\u{E0000}-\u{E007F}\u202A-\u202E\u2066-\u2069]+/gu

// Text beyond ASCII, the five special characters of XML, and collapsible spaces. Other texts need no change.
const NEEDS_WORK = /[^ !#-%(-;=?-~]| {2}|^ | $/

/** Escapes an author's text to one line of XML text or attribute, so that it can neither open nor close an element. */
export function escapeText(text: string): string {
  if (!NEEDS_WORK.test(text)) return text
  return text
    .replace(BREAKS, ' ')
    .trim()
    .replace(/[&<>"']/g, character => ENTITIES[character] as string)
}

// A model reads a tag even if invisible characters are between its letters.
const NOTHING = String.raw`[\s\p{Default_Ignorable_Code_Point}]*`

/**
 * Escapes an author's text for use inside a tag. Only an end of the tag is escaped. All other characters stay.
 * Eight digits of a digest in the tag name are no protection, because a text with the same digits is found in seconds.
 */
export function escapeEndTag(text: string, tag: string): string {
  const spread = ['/', ...tag].join(NOTHING)
  return text.replace(
    new RegExp(`<(?=${NOTHING}${spread}(?!\\p{Default_Ignorable_Code_Point}*[\\w-]))`, 'giu'),
    '&lt;',
  )
}
