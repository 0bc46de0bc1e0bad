// "Do not use for tags.", "Not for scans.", "Skip when offline.", "For invoices, use billing."
const NEGATIVE =
  /(?:\b(?:do not|don['’]t) use\b|\bnot for\b|\bnever use\b|\bskip (?:when|if)\b|(?<=^|[.;!?]\s+|\n\s*)for [^.!?\n]{1,120}?, (?:use|see)\b).*?(?:[.!?](?=\s|$)|$)/gis

/** The description of a skill, divided into what asks for the skill and what excludes it. */
export interface DescriptionParts {
  readonly positive: string
  /** The clauses that say when not to use the skill, each up to the end of its sentence. */
  readonly negative: readonly string[]
}

export function cutNegativeClauses(description: string): DescriptionParts {
  return {
    positive: description.replace(NEGATIVE, ' '),
    negative: description.match(NEGATIVE) ?? [],
  }
}
