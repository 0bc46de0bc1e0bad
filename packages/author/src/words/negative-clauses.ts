// "Do not use for tags.", "Not for scans.", "Skip when offline.", "For invoices, use billing."
const NEGATIVE =
  /(?:\b(?:do not|don['’]t) use\b|\bnot for\b|\bnever use\b|\bskip (?:when|if)\b|(?<=^|[.;!?]\s+|\n\s*)for [^.!?\n]{1,120}?, (?:use|see)\b).*?(?:[.!?](?=\s|$)|$)/gis

/**
 * Divides a description into what asks for the skill and what excludes it. Each excluding clause goes up to the end of its
 * sentence.
 */
export function cutNegativeClauses(text: string): { readonly positive: string; readonly negative: string[] } {
  return { positive: text.replace(NEGATIVE, ' '), negative: text.match(NEGATIVE) ?? [] }
}
