/** The endings of files that the script runner runs, besides JavaScript and TypeScript. */
export const SCRIPT_ENDINGS = ['py', 'sh', 'bash', 'zsh', 'rb', 'pl', 'php', 'lua', 'r'] as const

export type ScriptEnding = (typeof SCRIPT_ENDINGS)[number]

/** Further programs, which an agent or another program may run, and files that a program may load as code. */
const OTHER_ENDINGS =
  '[cm]?[jt]sx? pyw? pyc pyd awk sed ksh csh tcsh dash ash fish nu tcl expect ps1 psm1 bat cmd vbs wsf so dll dylib exe com bin run appimage wasm node jar class jl exs? clj'

const PROGRAM = new RegExp(`\\.(?:${[...SCRIPT_ENDINGS, ...OTHER_ENDINGS.split(' ')].join('|')})$`, 'i')
const PROSE = /^(?:licen[cs]e|copying|notice|readme|authors|changelog)$/i
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf] as const
const FIRST_LINE = [0x23, 0x21] as const // #!

/**
 * Whether a file may run: an executable file, a file in a folder `scripts`, a file with the ending of a program, or a file
 * whose first line names an interpreter. The script runner runs no other file. If `firstBytes` is absent, a name without an
 * ending counts, because the first line is unknown.
 */
export function mayRun(path: string, isExecutable: boolean, firstBytes?: Uint8Array): boolean {
  if (isExecutable || path.startsWith('scripts/') || path.includes('/scripts/') || PROGRAM.test(path))
    return true
  if (firstBytes !== undefined) return namesInterpreter(firstBytes)
  const name = path.slice(path.lastIndexOf('/') + 1)
  return !name.includes('.') && !PROSE.test(name)
}

function namesInterpreter(bytes: Uint8Array): boolean {
  const start = BYTE_ORDER_MARK.every((byte, index) => bytes[index] === byte) ? BYTE_ORDER_MARK.length : 0
  return FIRST_LINE.every((byte, index) => bytes[start + index] === byte)
}
