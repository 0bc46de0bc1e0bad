import { SkillError } from '../errors.ts'
import { quote } from '../quote.ts'
import { findNearNames } from '../skill/near-names.ts'
import type { Skill } from '../skill/skill.ts'

/** A script of a skill, with arguments that stood behind its path. */
export interface NamedScript {
  readonly path: string
  readonly args: readonly string[]
}

type Place = Pick<Skill, 'name' | 'files' | 'directory'>

/** Programs that run a script. Instructions of skills name them in front of the script, as in `bash scripts/x.sh`. */
const RUNNER =
  /^(?:\S*\/)?(?:(?:ba|da|k|z)?sh|python[\d.]*|node|tsx|ts-node|bun(?: run)?|deno run|uv run|ruby|perl|php|lua|Rscript)\s+/

/**
 * Finds the script that a text names: by its path in the skill, with `./`, by its path on this machine, by its name below
 * `scripts/`, or as a command line. A command line may begin with the program that runs the script.
 * @throws {SkillError} FILE_NOT_FOUND
 */
export function findScript(text: string, skill: Place): NamedScript {
  const path = findFile(text, skill)
  if (path !== undefined) return { path, args: [] }
  // Quotes and escapes would need the rules of a shell.
  const [first = '', ...args] = /["'\\`$]/.test(text) ? [] : text.trim().replace(RUNNER, '').split(/\s+/)
  const named = findFile(first, skill)
  if (named === undefined) throw notFound(text, skill)
  return { path: named, args }
}

function findFile(text: string, { files, directory }: Place): string | undefined {
  const has = (path: string): boolean => files.some(file => file.path === path)
  if (has(text)) return text
  const inside = directory === undefined ? text : withoutFolder(text, directory)
  const path = inside.replace(/^(?:\.\/)+/, '')
  return [path, `scripts/${path}`].find(has)
}

/** Returns the path relative to the folder. On Windows, both paths may contain backslashes. */
function withoutFolder(path: string, folder: string): string {
  const start = `${folder.replaceAll('\\', '/').replace(/\/$/, '')}/`
  const whole = path.replaceAll('\\', '/')
  return whole.startsWith(start) ? whole.slice(start.length) : path
}

function notFound(text: string, { name, files }: Place): SkillError {
  const scripts = files.flatMap(({ path }) => (path.startsWith('scripts/') ? path : []))
  const wanted = text.trim().replace(RUNNER, '').split(/\s+/)[0] ?? ''
  const near = findNearNames(
    wanted.replace(/^.*\//, ''),
    scripts.map(path => path.replace(/^.*\//, '')),
  )
  const meant = scripts.filter(path => near.includes(path.replace(/^.*\//, ''))).slice(0, MAX_SHOWN)
  const hint =
    meant.length > 0
      ? `did you mean ${meant.map(path => quote(path)).join(' or ')}?`
      : scripts.length === 0
        ? 'it has no scripts'
        : `its scripts are ${scripts.slice(0, MAX_SHOWN).join(', ')}`
  return new SkillError('FILE_NOT_FOUND', `${quote(name)} has no file ${quote(text, MAX_TEXT)}; ${hint}`)
}

const MAX_SHOWN = 20
const MAX_TEXT = 200
