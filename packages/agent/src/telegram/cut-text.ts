/** Returns the beginning of a text, at most `maxLength` UTF-16 code units. Never splits a surrogate pair. */
export function cutText(text: string, maxLength: number): string {
  const splitsPair = /^[\ud800-\udbff][\udc00-\udfff]/.test(text.slice(maxLength - 1, maxLength + 1))
  return text.slice(0, splitsPair ? maxLength - 1 : maxLength)
}
