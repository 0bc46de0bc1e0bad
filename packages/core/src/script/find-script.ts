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

// Skipped are only options without a value, because a value could be the path of another script.
const SHELL = String.raw`(?:ba|da|k|z)?sh(?:\s+-[aefhuvx]+)*`
const PYTHON = String.raw`python[\d.]*(?:\s+-[bBdEIOPqsSuv]+)*`
const OTHER_PROGRAM = '(?:node|tsx|ts-node|bun(?: run)?|deno run|uv run|ruby|perl|php|lua|Rscript)'
const OTHER_OPTION = String.raw`\s+(?:-[Aqw]|--(?:allow-[\w-]+|no-[\w-]+|enable-source-maps|quiet|script|offline|vanilla)(?:=\S+)?)`
/**
 * Programs that run a script. Instructions of skills name them in front of the script, as in `bash -e scripts/x.sh`.
 * The first line of the script decides how it runs, so their options are skipped.
 */
const RUNNER = new RegExp(
  String.raw`^(?:\S*\/)?(?:${SHELL}|${PYTHON}|${OTHER_PROGRAM}(?:${OTHER_OPTION})*)\s+`,
)
/** A path, which may be in quotes, and arguments. Other quotes and escapes would need the rules of a shell. */
const COMMAND_LINE = /^(?:"([^"\\`$]+)"|'([^']+)'|([^\s"'\\`$]+))(?:\s+([^"'\\`$]*))?$/

/**
 * Finds the script that a text names: by its path in the skill, with `./`, by its path on this machine, by its name below
 * `scripts/`, or as a command line. A command line may begin with the program that runs the script.
 * @throws {SkillError} FILE_NOT_FOUND
 */
export function findScript(text: string, skill: Place): NamedScript {
  const path = findFile(text, skill)
  if (path !== undefined) return { path, args: [] }
  const [, double, single, plain, args = ''] = COMMAND_LINE.exec(withoutRunner(text)) ?? []
  const named = findFile(double ?? single ?? plain ?? '', skill)
  if (named === undefined) throw notFound(text, skill)
  return { path: named, args: args.split(/\s+/).filter(Boolean) }
}

function withoutRunner(text: string): string {
  return text.trim().replace(RUNNER, '')
}

function findFile(text: string, { files, directory }: Place): string | undefined {
  const paths = files.map(file => file.path)
  if (paths.includes(text)) return text
  const inside = directory === undefined ? text : withoutFolder(text, directory)
  const path = toPlainPath(inside).replace(/^\.\//, '')
  return [path, `scripts/${path}`]
    .map(wanted => paths.find(each => each.normalize() === wanted.normalize()))
    .find(each => each !== undefined)
}

/** Removes repeated separators and `.` inside of a path. */
function toPlainPath(path: string): string {
  return path.replace(/\/(?:\.?\/)+/g, '/')
}

/** Returns the path relative to the folder. On Windows, both paths may contain backslashes. */
function withoutFolder(path: string, folder: string): string {
  const start = `${toPlainPath(folder.replaceAll('\\', '/')).replace(/\/$/, '')}/`
  const whole = toPlainPath(path.replaceAll('\\', '/'))
  return whole.startsWith(start) ? whole.slice(start.length) : path
}

function notFound(text: string, { name, files }: Place): SkillError {
  const scripts = files.flatMap(({ path }) => (path.startsWith('scripts/') ? path : []))
  const wanted = withoutRunner(text).split(/\s+/)[0] ?? ''
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
