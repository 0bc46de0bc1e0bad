/**
 * Returns a regular expression that matches a whole text. Each `*` stands for any characters.
 * @param hasEscapes whether `\*` stands for the character itself
 */
export function toWildcard(text: string, hasEscapes = false): RegExp {
  const parts = text
    .split(hasEscapes ? /(?<!\\)\*/ : '*')
    .map(part => part.replaceAll('\\*', '*').replace(/[\\^$.*|?+()[\]{}]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 'su')
}
