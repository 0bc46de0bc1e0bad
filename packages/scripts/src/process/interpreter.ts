import { decodeUnmarkedText } from '@skillstoke/core/internal'

/** The program that runs a script without commands. */
export type Interpreter =
  /** The Node version of the host runs the script, and the permissions of Node confine the script. */
  | { readonly kind: 'node' }
  /** The first installed program of `names` runs the script. */
  | { readonly kind: 'program'; readonly names: readonly string[]; readonly args: readonly string[] }

const BY_ENDING: Readonly<Record<string, readonly string[]>> = {
  py: ['python3', 'python'],
  sh: ['sh'],
  bash: ['bash'],
  zsh: ['zsh'],
  rb: ['ruby'],
  pl: ['perl'],
  php: ['php'],
  lua: ['lua'],
  r: ['Rscript'],
}
const NODE = /\.[mc]?[jt]s$/

/**
 * Whether a file may be a program, judging by its path alone. A file without a file ending counts as a program, because
 * its first line may name an interpreter.
 */
export function mayHaveInterpreter(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return NODE.test(path) || !name.includes('.') || Object.hasOwn(BY_ENDING, endingOf(name))
}

/**
 * Finds the interpreter by the ending of the file name, otherwise by the first line of the file. Returns `undefined` if
 * neither of them names an interpreter.
 */
export function findInterpreter(path: string, bytes: Uint8Array): Interpreter | undefined {
  if (NODE.test(path)) return { kind: 'node' }
  const ending = endingOf(path)
  const firstLine = decodeUnmarkedText(bytes.subarray(0, 256)).split('\n')[0] ?? ''
  const words = firstLine.startsWith('#!') ? firstLine.slice(2).trim().split(/\s+/) : []
  // In `#!/usr/bin/env -S python3 -u`, the interpreter is `python3`, because `env` only starts `python3`.
  const named = words[0]?.endsWith('/env') === true ? words.slice(words[1] === '-S' ? 2 : 1) : words
  const [program, ...args] = named
  const known = Object.hasOwn(BY_ENDING, ending) ? BY_ENDING[ending] : undefined
  if (known !== undefined) {
    // A file that ends in `.sh` may name another shell in its first line, for example `#!/bin/bash`.
    const own = ending === 'sh' && program !== undefined ? [program.slice(program.lastIndexOf('/') + 1)] : []
    return { kind: 'program', names: [...own, ...known], args: [] }
  }
  if (program === undefined || program === '') return undefined
  const name = program.slice(program.lastIndexOf('/') + 1)
  return name === 'node' ? { kind: 'node' } : { kind: 'program', names: [name], args }
}

function endingOf(path: string): string {
  return /\.([a-z]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ''
}
