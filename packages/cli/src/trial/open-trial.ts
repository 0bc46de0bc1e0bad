import { join } from 'node:path'
import { SkillAgent } from '@skillstoke/agent'
import { openTrialStore, type TrialStore } from '@skillstoke/author/trials'
import type { SkillRuntime } from '@skillstoke/core'
import { chooseModel } from '../chat/choose-model.ts'
import { toCallSettings } from '../chat/tool-approval.ts'
import { CONFIRMATIONS } from '../chat/tool-confirmation.ts'
import type { Config } from '../config/config.ts'
import { openSkills } from '../skills/open-skills.ts'
import { countTokens } from '../skills/tokens.ts'
import { toTrialState } from './trial-state.ts'

/** A server that sends nothing for a minute has stalled. */
const TIMEOUT = { firstChunkMs: 60_000, chunkMs: 60_000 }
/** Most model calls in one turn. */
const MAX_STEPS = 8

/**
 * Opens the skills of a trial, which do not change while it runs. The caller closes them.
 * @param revision what is served instead of the revision that is served now
 */
export async function openTrialSkills(
  config: Config,
  revision?: { readonly skill: string; readonly digest: string },
): Promise<SkillRuntime> {
  const skills = await openSkills(config, {
    watching: 'never',
    runsScripts: true,
    needsState: revision !== undefined,
    wrapState: toTrialState,
    runtime: { catalog: { countTokens, ...config.catalog } },
  })
  if (revision !== undefined)
    await skills.review.pin(revision.skill, { revision: revision.digest, confirmHidden: true })
  return skills
}

/** What the agent of a trial may do. */
interface TrialRights {
  /** Names of skills that the model does not see. @default none */
  readonly without?: readonly string[]
  /** Whether scripts run, with the grants of their skill. @default false */
  readonly runsScripts?: boolean
}

/** Creates the agent that gets the messages, with the catalog that new conversations get now. */
export function createTrialAgent(
  skills: SkillRuntime,
  config: Config,
  { without = [], runsScripts = false }: TrialRights = {},
): SkillAgent {
  const scope = { ...config.scope, exclude: [...(config.scope?.exclude ?? []), ...without] }
  return new SkillAgent({
    ...{ skills, scope, model: chooseModel(config), maxSteps: MAX_STEPS },
    // A call that waits for an approval ends the turn.
    call: { timeout: TIMEOUT, ...(runsScripts ? {} : toCallSettings(CONFIRMATIONS)) },
  })
}

/** Returns the name of the model, for the cache and for people. */
export function nameModel({ model: { model, baseUrl } }: Config): string {
  return [model, baseUrl].filter(Boolean).join(' at ')
}

type WithState = Pick<Config, 'stateDirectory'>

/** Returns the path of what was measured in earlier runs. */
export function placeOfMeasured({ stateDirectory }: WithState): string {
  return join(stateDirectory, 'tests.sqlite')
}

/** Opens what was measured in earlier runs. */
export async function openMeasured(config: WithState): Promise<TrialStore> {
  return await openTrialStore(placeOfMeasured(config))
}
