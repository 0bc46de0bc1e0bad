import type { SkillRuntime } from '@skillstoke/core'
import type { ApiClient } from '../client/api-client.ts'
import { type Config, pathsOf } from '../config/config.ts'
import { findRunningDev } from '../server/run-file.ts'
import { paint } from '../terminal/output.ts'
import { type OpenOptions, openSkills } from './open-skills.ts'

/** Where an answer comes from: a running `stoke dev`, or a scan of the sources. */
export type AnswerSource =
  | { readonly kind: 'dev'; readonly url: string; readonly pid: number }
  | { readonly kind: 'scan' }

/** Who answers a question. Both give the same answer. */
export interface Answerers<T> {
  readonly ask: (client: ApiClient) => Promise<T>
  readonly scan: (skills: SkillRuntime) => Promise<T> | T
}

/** Asks a running `stoke dev` that has the same sources. If no such process runs, opens the skills once. */
export async function askOrScan<T>(
  config: Config,
  { ask, scan }: Answerers<T>,
  options: Partial<OpenOptions> = {},
): Promise<{ answer: T; from: AnswerSource }> {
  const dev = await findRunningDev(config)
  if (dev !== undefined) {
    const { url, pid } = dev.file
    return { answer: await ask(dev.client), from: { kind: 'dev', url, pid } }
  }
  await using skills = await openSkills(config, { watching: 'off', ...options })
  return { answer: await scan(skills), from: { kind: 'scan' } }
}

export function describeSource(from: AnswerSource, config: Config): string {
  const words =
    from.kind === 'dev'
      ? `answered by the running dev at ${from.url} (process ${from.pid})`
      : `scanned just now, because no running dev has these roots (${pathsOf(config).join(', ')}) and this state directory`
  return paint('dim', words)
}
