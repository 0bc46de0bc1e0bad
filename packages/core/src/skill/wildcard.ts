/** Returns a regular expression that matches a whole text. Each `*` stands for any characters. */
export function toWildcard(text: string): RegExp {
  const parts = text.split('*').map(part => part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 'su')
}
