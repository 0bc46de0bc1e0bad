import { decodeUnmarkedText, mayRun, quote, quoteAll, type ScriptEnding } from '@skillstoke/core/internal'

/** The program that runs a script without commands. */
export type Interpreter =
  /** The Node version of the host runs the script, and the permissions of Node confine the script. */
  | { readonly kind: 'node'; readonly args: readonly string[] }
  /** The first installed program of `names` runs the script. */
  | { readonly kind: 'program'; readonly names: readonly string[]; readonly args: readonly string[] }
  /** The first line asks for something that no script gets. `reason` completes a sentence about the script. */
  | { readonly kind: 'refused'; readonly reason: string }

const BY_ENDING: Readonly<Record<ScriptEnding, readonly string[]>> = {
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
/** Programs that run TypeScript with Node. Node removes types itself. */
const LIKE_NODE = ['node', 'nodejs', 'tsx', 'ts-node']
/** Options of Node that widen no permission. */
const NODE_OPTIONS =
  /^--(?:no-)?(?:warnings|deprecation|enable-source-maps|trace-warnings|trace-deprecation|trace-uncaught|throw-deprecation|experimental-strip-types|experimental-transform-types|stack-trace-limit=\d+|unhandled-rejections=\w+)$/
/** Programs that download a package and run it. */
const INSTALLERS = ['npx', 'bunx', 'uvx', 'pipx']
const NO_PACKAGES = 'scripts get no packages; bundle what the script needs into its skill'
const UV_FORM = 'write "#!/usr/bin/env -S uv run --script"'
/** Global options of uv that are followed by a value. */
const UV_VALUES = [
  '--allow-insecure-host',
  '--cache-dir',
  '--color',
  '--config-file',
  '--directory',
  '--project',
]
const MAX_FIRST_LINE = 1_024

/**
 * Whether a file may be a program, judging by its path alone. A file without a file ending counts as a program, because
 * its first line may name an interpreter.
 */
export function mayHaveInterpreter(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return NODE.test(path) || !name.includes('.') || namesOf(path) !== undefined
}

/**
 * Finds the interpreter by the first line of the file, otherwise by the ending of the file name. Returns `undefined` if
 * neither of them names an interpreter.
 */
export function findInterpreter(path: string, bytes: Uint8Array): Interpreter | undefined {
  // Approvals ask about the files for which `mayRun` is true, so no other file runs.
  if (!mayRun(path, false, bytes)) return undefined
  const line = decodeUnmarkedText(bytes.subarray(0, MAX_FIRST_LINE)).split('\n')[0] ?? ''
  const words = line.startsWith('#!') ? line.slice(2).trim().split(/\s+/) : []
  const named = words.length === 1 && words[0] === '' ? undefined : toNamed(words, bytes)
  if (named !== undefined) return named
  if (NODE.test(path)) return { kind: 'node', args: [] }
  const names = namesOf(path)
  return names === undefined ? undefined : { kind: 'program', names, args: [] }
}

/** Reads the words of a first line, as the kernel and `env` do. */
function toNamed([first, ...rest]: readonly string[], bytes: Uint8Array): Interpreter | undefined {
  if (first === undefined) return undefined
  const name = nameOf(first)
  if (name !== 'env') return toInterpreter(name, rest, bytes)
  const given = rest.join(' ')
  const whole = given.replace(/^(?:-S|--split-string=?) ?/, '')
  const [program = '', ...args] = whole.split(' ')
  if (program === '') return undefined
  // Variables, other options and quotes are left to `env` itself.
  if (/^-|=/.test(program) || /["'\\$]/.test(whole)) {
    const installer = whole.split(/[\s"'\\]+/).find(word => ['uv', ...INSTALLERS].includes(nameOf(word)))
    return installer === undefined
      ? { kind: 'program', names: ['env'], args: ['-S', whole] }
      : { kind: 'refused', reason: `its first line starts ${installer} with options of env; ${UV_FORM}` }
  }
  return toInterpreter(nameOf(program), args, bytes)
}

function toInterpreter(name: string, args: readonly string[], bytes: Uint8Array): Interpreter {
  if (LIKE_NODE.includes(name)) {
    const option = args.find(each => !NODE_OPTIONS.test(each))
    return option === undefined
      ? { kind: 'node', args }
      : {
          kind: 'refused',
          reason: `its first line passes ${quote(option)} to Node, which no script may do`,
        }
  }
  if (name === 'uv') return toUv(args, bytes)
  if (INSTALLERS.includes(name)) {
    const [asked = '', ...rest] = args.filter(each => !['-y', '--yes'].includes(each))
    if (LIKE_NODE.includes(asked)) return toInterpreter(asked, rest, bytes)
    return {
      kind: 'refused',
      reason: `its first line asks ${name} for ${quote(asked)}, but ${NO_PACKAGES}`,
    }
  }
  // Several systems have only `python3`.
  return { kind: 'program', names: name === 'python' ? ['python', 'python3'] : [name], args }
}

/** `uv run` downloads packages and Python versions, unless it may not use the network. */
function toUv(args: readonly string[], bytes: Uint8Array): Interpreter {
  const at = args.findIndex(
    (arg, index) => !arg.startsWith('-') && !UV_VALUES.includes(args[index - 1] ?? ''),
  )
  const refused = (reason: string): Interpreter => ({ kind: 'refused', reason })
  if (args[at] !== 'run') return refused(`its first line asks uv for something else than "run"; ${UV_FORM}`)
  if (args.includes('--no-offline'))
    return refused('its first line asks uv for the network (--no-offline), which uv never gets')
  const asked = args.find(option => /^--(?:with|extra|group)|^-[a-z]*w/.test(option))
  if (asked !== undefined)
    return refused(`its first line asks uv for packages (${asked}), but ${NO_PACKAGES}`)
  const packages = findPackages(decodeUnmarkedText(bytes))
  if (packages.length > 0)
    return refused(`it asks uv for the packages ${quoteAll(packages)}, but ${NO_PACKAGES}`)
  return { kind: 'program', names: ['uv'], args: args.toSpliced(at + 1, 0, '--offline') }
}

/** Characters of a script that are searched. Packages that are listed behind them do not load, because uv is offline. */
const MAX_METADATA = 65_536

/** Returns the packages that the inline metadata of a Python script lists; see PEP 723. */
function findPackages(text: string): readonly string[] {
  const lines = text.slice(0, MAX_METADATA).split(/\r?\n/)
  const start = lines.findIndex(line => line.trimEnd() === '# /// script')
  const below = start === -1 ? [] : lines.slice(start + 1)
  const end = below.findIndex(line => !/^#(?: |$)/.test(line))
  const block = below.slice(0, end === -1 ? below.length : end).join('\n')
  const toml = block.replace(/^# ?/gm, '').replace(/("[^"\r\n]*"|'[^'\r\n]*')|#.*/g, '$1')
  const [, list = ''] =
    /^\s*["']?dependencies["']?\s*=\s*\[((?:"[^"]*"|'[^']*'|[^\]"'])*)\]/m.exec(toml) ?? []
  return [...list.matchAll(/"([^"]*)"|'([^']*)'/g)].map(([, double, single]) => double ?? single ?? '')
}

function nameOf(program: string): string {
  return program.slice(program.lastIndexOf('/') + 1)
}

/** Returns the programs that run files with the ending of a path. */
function namesOf(path: string): readonly string[] | undefined {
  const ending = /\.([a-z]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ''
  return Object.hasOwn(BY_ENDING, ending) ? BY_ENDING[ending as ScriptEnding] : undefined
}
