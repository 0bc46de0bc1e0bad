const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#x27;',
}

// Line breaks of every kind and characters that show nothing: in a catalog they could only forge structure.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is being replaced
const BREAKS = /[\u0000-\u0020\u007f-\u00a0\u2028\u2029\u{E0000}-\u{E007F}\u202A-\u202E\u2066-\u2069]+/gu

// Beyond ASCII, the five characters of XML, and spaces that would be collapsed: everything else stays as it is.
const NEEDS_WORK = /[^ !#-%(-;=?-~]| {2}|^ | $/

/** Text of a skill's author as one line of XML text or attribute: it can end nothing and open nothing. */
export function escapeText(text: string): string {
  if (!NEEDS_WORK.test(text)) return text
  return text
    .replace(BREAKS, ' ')
    .trim()
    .replace(/[&<>"']/g, character => ENTITIES[character] as string)
}

// What shows nothing could stand between the characters of a tag, and a model would read the tag all the same.
const NOTHING = String.raw`[\s\p{Default_Ignorable_Code_Point}]*`

/**
 * Text of a skill's author as it may stand between a tag and its end: every other character stays as it is, and what would end the
 * tag is written as text. Eight digits of a digest in the tag are no protection: a text that has them is found in seconds.
 */
export function escapeEndTag(text: string, tag: string): string {
  const spread = ['/', ...tag].join(NOTHING)
  return text.replace(
    new RegExp(`<(?=${NOTHING}${spread}(?!\\p{Default_Ignorable_Code_Point}*[\\w-]))`, 'giu'),
    '&lt;',
  )
}
