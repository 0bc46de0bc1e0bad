import { existsSync } from 'node:fs'
import { basename, delimiter, join, relative } from 'node:path'
import { leadsOut, realPath } from '../config/real-path.ts'
import { toCommandLine } from './command-line.ts'

/**
 * Matches the path under which Node started this program. The first group is the folder in whose `node_modules` this
 * program is installed.
 */
const PROJECT =
  /^(.*)[\\/](?:node_modules[\\/](?:\.bin[\\/](?:skill)?stoke|skillstoke[\\/]bin[\\/]stoke\.js)|packages[\\/]cli[\\/]bin[\\/]stoke\.js)$/

/**
 * Returns the command that starts this program in a folder. The command is `stoke` if the program is installed
 * globally or on the path, and `npx skillstoke` if not. For a folder outside the project, the command also contains the path of the
 * project.
 * @param script the path under which Node started the program
 */
export function findProgramName(
  script: string = process.argv[1] ?? '',
  folder: string = process.cwd(),
  env: NodeJS.ProcessEnv = process.env,
): string {
  if (isOnPath(script, env)) return 'stoke'
  if (/[\\/]_npx[\\/]/.test(script)) return 'npx skillstoke'
  const project = PROJECT.exec(script)?.[1]
  if (project === undefined || !existsSync(join(project, 'node_modules', '.bin', 'skillstoke')))
    return basename(script) === 'skillstoke' ? 'skillstoke' : 'stoke'
  const isOutside = leadsOut(relative(project, folder))
  return isOutside ? toCommandLine(['npx', '--prefix', project, 'skillstoke']) : 'npx skillstoke'
}

/** Returns whether a shell of the user finds this very program as `stoke`. Another package on npm has this name, too. */
function isOnPath(script: string, { PATH = '', npm_execpath: npm }: NodeJS.ProcessEnv): boolean {
  const own = realPath(script)
  if (own === undefined) return false
  // While npm or npx runs a program, the path contains folders that the shell of the user does not have.
  const folders = PATH.split(delimiter).filter(each => npm === undefined || !each.endsWith('.bin'))
  const first = folders.map(each => join(each, 'stoke')).find(each => existsSync(each))
  return first !== undefined && realPath(first) === own
}

/** Returns a command of this program, as a person types it. */
export function nameCommand(words: readonly string[]): string {
  return `${findProgramName()} ${toCommandLine(words)}`
}

/** Replaces the name in advice such as `stoke approve pdf`, so that a person can paste the command. */
export function nameProgram(text: string): string {
  return text.includes('stoke ') ? text.replace(/\bstoke (?=[a-z-])/g, `${findProgramName()} `) : text
}
