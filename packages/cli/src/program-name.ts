import { existsSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { toCommandLine } from './command-line.ts'

/**
 * Matches the path under which Node started the program. The first group is the folder whose `node_modules` contains
 * it.
 */
const PROJECT =
  /^(.*)[\\/](?:node_modules[\\/](?:\.bin[\\/](?:skill)?stoke|skillstoke[\\/]bin[\\/]stoke\.js)|packages[\\/]cli[\\/]bin[\\/]stoke\.js)$/

/**
 * Returns the words that start this program from a folder. The words are `stoke` if the program is installed globally,
 * and `npx skillstoke` otherwise. If the folder is outside the project, the words contain the path of the project.
 * @param script the path under which Node started the program
 */
export function findProgramName(
  script: string = process.argv[1] ?? '',
  folder: string = process.cwd(),
): string {
  if (/[\\/]_npx[\\/]/.test(script)) return 'npx skillstoke'
  const project = PROJECT.exec(script)?.[1]
  if (project === undefined || !existsSync(join(project, 'node_modules', '.bin', 'skillstoke')))
    return basename(script) === 'skillstoke' ? 'skillstoke' : 'stoke'
  const isInside = !relative(project, folder).startsWith('..')
  return isInside ? 'npx skillstoke' : toCommandLine(['npx', '--prefix', project, 'skillstoke'])
}

/** Replaces the name in advice such as `stoke approve pdf`, so that a person can paste the command. */
export function nameProgram(text: string): string {
  return text.includes('stoke ') ? text.replace(/\bstoke (?=[a-z-])/g, `${findProgramName()} `) : text
}
