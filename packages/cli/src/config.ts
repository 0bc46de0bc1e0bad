import { homedir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import type { ModelConfig } from '@skillstoke/agent'
import type { Diagnostic, SourceReport } from '@skillstoke/core'
import { defaultStateDirectory } from '@skillstoke/core/node'

/** One folder of skills, with the label by which every machine knows it. */
export interface RootConfig {
  readonly label: string
  /** As a person would write it. */
  readonly path: string
  /** Whether somebody asked for it, instead of getting it by default. */
  readonly isNamed: boolean
}

/** Everything the command line knows of its surroundings; the only room that reads the environment. */
export interface Config {
  readonly roots: readonly RootConfig[]
  /** Further folders into which links of the roots may lead. */
  readonly linkRoots: readonly string[]
  readonly stateDirectory: string
  readonly model: ModelConfig
  readonly hasColor: boolean
  readonly isInteractive: boolean
}

export interface ConfigFlags {
  readonly root?: readonly string[]
  readonly linkRoot?: readonly string[]
  readonly state?: string
  readonly model?: string
  readonly baseUrl?: string
}

const DEFAULT_ROOTS = ['skills', '.agents/skills', '.claude/skills'] as const

/** Flags come before the environment. */
export function resolveConfig(flags: ConfigFlags, environment: NodeJS.ProcessEnv = process.env): Config {
  const model = flags.model ?? environment['SKILLSTOKE_MODEL']
  const baseUrl = flags.baseUrl ?? environment['SKILLSTOKE_BASE_URL']
  const apiKey = environment['SKILLSTOKE_API_KEY']
  const isTerminal = process.stdout.isTTY === true
  return {
    roots: resolveRoots(flags.root ?? []),
    linkRoots: flags.linkRoot ?? [],
    stateDirectory: resolve(flags.state ?? defaultStateDirectory(environment)),
    model: {
      ...(model === undefined ? {} : { model }),
      ...(baseUrl === undefined ? {} : { baseUrl }),
      ...(apiKey === undefined ? {} : { apiKey }),
    },
    hasColor: isTerminal && !environment['NO_COLOR'] && environment['TERM'] !== 'dumb',
    isInteractive: isTerminal && process.stdin.isTTY === true && !environment['CI'],
  }
}

function resolveRoots(given: readonly string[]): RootConfig[] {
  if (given.length > 0) {
    // The same folder twice would only shadow itself.
    const distinct = given.filter(
      (path, index) => given.findIndex(other => resolve(other) === resolve(path)) === index,
    )
    return distinct.map((path, index) => ({
      label: `root-${index + 1}`,
      path: path.replace(/(?!^)\/+$/, ''),
      isNamed: true,
    }))
  }
  const roots: RootConfig[] = DEFAULT_ROOTS.map(path => ({ label: path, path, isNamed: false }))
  return [
    ...roots,
    { label: '~/.agents/skills', path: displayHome(join(homedir(), '.agents', 'skills')), isNamed: false },
  ]
}

/** Relative where that is shorter to read; a root in another place keeps its absolute path. */
function displayHome(path: string): string {
  const fromHere = relative(process.cwd(), path)
  return fromHere.startsWith('..') || fromHere === '' ? path : fromHere
}

/** What is to be told of the roots. A default one that is not there is nothing to talk about; a named one is. */
export function findingsOf(sources: readonly SourceReport[], config: Config): Diagnostic[] {
  return sources.flatMap(({ diagnostics }, index) =>
    diagnostics.filter(each => each.code !== 'ROOT_MISSING' || config.roots[index]?.isNamed === true),
  )
}
