const VOWEL = /[aeiouy]/
const DOUBLED = /([bdfgmnprt])\1$/
const LEAST_STEM = 3

/**
 * Returns the part of an English word that its forms share: `merge`, `merges`, `merged` and `merging` become `merg`. Words
 * of other alphabets stay as they are.
 */
export function stem(word: string): string {
  if (!/^[a-z]+$/.test(word)) return word
  return withoutFinalE(withoutVerbEnding(toSingular(word)))
}

function toSingular(word: string): string {
  if (word.length < LEAST_STEM || /(?:ss|us|is)$/.test(word)) return word
  if (word.endsWith('ies')) return word.length > 4 ? `${word.slice(0, -3)}y` : word.slice(0, -1)
  return word.replace(/(?<=s|x|z|ch|sh)es$|s$/, '')
}

function withoutVerbEnding(word: string): string {
  const rest = word.replace(/(?:ing|ed)$/, '')
  if (rest === word || rest.length < LEAST_STEM || !VOWEL.test(rest)) return word
  return rest.replace(DOUBLED, '$1')
}

function withoutFinalE(word: string): string {
  return word.length > LEAST_STEM ? word.replace(/e$/, '') : word
}
