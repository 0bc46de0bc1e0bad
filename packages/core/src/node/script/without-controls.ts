import { stripVTControlCharacters } from 'node:util'

/** Text without what would move a cursor, change a colour or hide something on a terminal. */
export function withoutControls(text: string): string {
  return stripVTControlCharacters(text).replace(/(?![\t\n])\p{Cc}/gu, '')
}
