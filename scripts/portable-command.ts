import { readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'

interface Manifest {
  readonly bin?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

/** Returns a command that starts on every platform without a shell. The programs that packages put into `node_modules/.bin` are shell scripts on Windows, so this function names their JavaScript files instead. */
export function toPortable([program = '', ...args]: readonly string[]): readonly [string, ...string[]] {
  if (program === 'node') return [process.execPath, ...args]
  const file = program === 'npm' ? findNpm() : findBin(program)
  return file === undefined ? [program, ...args] : [process.execPath, file, ...args]
}

/** Returns the JavaScript file of npm. Returns `undefined` if npm did not start this process. */
function findNpm(): string | undefined {
  const { npm_execpath: file = '' } = process.env
  return basename(file) === 'npm-cli.js' ? file : undefined
}

/** Returns the JavaScript file of a program of a development dependency. Returns `undefined` for other programs. */
function findBin(program: string): string | undefined {
  for (const name of Object.keys(readManifest('.').devDependencies ?? {})) {
    const folder = resolve('node_modules', name)
    const file = readManifest(folder).bin?.[program]
    if (file !== undefined) return join(folder, file)
  }
  return undefined
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}
