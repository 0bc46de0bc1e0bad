import { homedir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import type { ModelConfig } from '@skillstoke/agent'
import { defaultStateDirectory } from '@skillstoke/core/node'

/** One folder of skills, with the label by which every machine knows it. */
export interface RootConfig {
  readonly label: string
  /** As a person would write it. */
  readonly path: string
}

/** Everything the command line knows of its surroundings; the only room that reads the environment. */
export interface Config {
  readonly roots: readonly RootConfig[]
  readonly stateDirectory: string
  readonly model: ModelConfig
  readonly hasColor: boolean
  readonly isInteractive: boolean
}

export interface ConfigFlags {
  readonly root?: readonly string[]
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
    return given.map((path, index) => ({ label: `root-${index + 1}`, path: path.replace(/(?!^)\/+$/, '') }))
  }
  const roots: RootConfig[] = DEFAULT_ROOTS.map(path => ({ label: path, path }))
  return [...roots, { label: '~/.agents/skills', path: displayHome(join(homedir(), '.agents', 'skills')) }]
}

/** Relative where that is shorter to read; a root in another place keeps its absolute path. */
function displayHome(path: string): string {
  const fromHere = relative(process.cwd(), path)
  return fromHere.startsWith('..') || fromHere === '' ? path : fromHere
}
