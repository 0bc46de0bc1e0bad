/**
 * Quotes words for a POSIX shell. On Windows, quotes words for PowerShell. If possible, the quoted words work in `cmd`
 * too.
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
  // These characters have the same meaning in PowerShell and `cmd` if they are between double quotes.
  if (/^[\w@+=:,./\\~ ()#&;'-]+$/.test(word) && !word.endsWith('\\')) return `"${word}"`
  return `'${word.replace(APOSTROPHES, '$&$&')}'`
}
