import { stripVTControlCharacters } from 'node:util'

/**
 * Removes control characters and escape sequences, which could move a cursor, change a colour or hide text on a
 * terminal.
 * @param options.keepsLineEnds keeps a carriage return before a line feed, for texts that are data
 */
export function withoutControls(
  text: string,
  { keepsLineEnds = false }: { readonly keepsLineEnds?: boolean } = {},
): string {
  return stripVTControlCharacters(text).replace(keepsLineEnds ? ALL_BUT_LINE_ENDS : ALL, '')
}

const ALL = /(?![\t\n])\p{Cc}/gu
const ALL_BUT_LINE_ENDS = /(?![\t\n]|\r\n)\p{Cc}/gu
