/**
 * Quotes words for a POSIX shell. On Windows, quotes words for PowerShell. If possible, uses quotes that also work in
 * `cmd`.
 */
export function toCommandLine(
  words: readonly string[],
  platform: NodeJS.Platform = process.platform,
): string {
  return words.map(platform === 'win32' ? quoteForWindows : quoteForPosix).join(' ')
}

function quoteForPosix(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

/** PowerShell treats typographic apostrophes as plain apostrophes. */
const APOSTROPHES = /['\u2018-\u201b]/g

function quoteForWindows(word: string): string {
  if (/^[\w+=:./\\-][\w@+=:./\\~-]*$/.test(word)) return word
  // Between double quotes, these characters have the same meaning in PowerShell and `cmd`.
  if (/^[\w@+=:,./\\~ ()#&;'-]+$/.test(word) && !word.endsWith('\\')) return `"${word}"`
  return `'${word.replace(APOSTROPHES, '$&$&')}'`
}
