/** Media types of common skill files. Public registries list `.ts` as a video format and lack most script types. */
const BY_EXTENSION: ReadonlyMap<string, string> = new Map([
  ['md', 'text/markdown'],
  ['markdown', 'text/markdown'],
  ['txt', 'text/plain'],
  ['json', 'application/json'],
  ['yaml', 'application/yaml'],
  ['yml', 'application/yaml'],
  ['toml', 'application/toml'],
  ['xml', 'application/xml'],
  ['csv', 'text/csv'],
  ['html', 'text/html'],
  ['css', 'text/css'],
  ['js', 'text/javascript'],
  ['mjs', 'text/javascript'],
  ['ts', 'text/typescript'],
  ['mts', 'text/typescript'],
  ['py', 'text/x-python'],
  ['sh', 'application/x-sh'],
  ['bash', 'application/x-sh'],
  ['svg', 'image/svg+xml'],
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['gif', 'image/gif'],
  ['webp', 'image/webp'],
  ['pdf', 'application/pdf'],
])

const UNKNOWN = 'application/octet-stream'

/** Returns the media type for the extension of a file. */
export function mediaTypeOf(path: string): string {
  const extension = /[^/]\.([^./]+)$/.exec(path)?.[1]?.toLowerCase()
  return (extension === undefined ? undefined : BY_EXTENSION.get(extension)) ?? UNKNOWN
}
