import { join } from 'node:path'
import { resolveModel, SkillAgent } from '@skillstoke/agent'
import { openTrialStore, type TrialStore } from '@skillstoke/author'
import type { SkillRuntime } from '@skillstoke/core'
import { defined } from '@skillstoke/core/internal'
import {
  type DecisionStore,
  type FolderDecisions,
  type FolderPlace,
  MemoryDecisions,
} from '@skillstoke/core/source'
import type { Config } from '../config/config.ts'
import { openSkills } from '../skills/open-skills.ts'
import { countTokens } from '../skills/tokens.ts'

/** The skills of a trial. */
export interface TrialSetting {
  readonly config: Config
  /** Whether scripts run, with the grants of their skill. */
  readonly runsScripts: boolean
  /** Revision that is served instead of the one that is served now. */
  readonly revision?: { readonly skill: string; readonly digest: string }
}

/** Decisions for one trial. They are on top of the stored ones, and end with the process. */
class TrialDecisions extends MemoryDecisions {
  readonly #stored: DecisionStore

  constructor(stored: DecisionStore) {
    super()
    this.#stored = stored
  }

  override find(place: FolderPlace): FolderDecisions | undefined {
    return super.find(place) ?? this.#stored.find(place)
  }
}

/** Opens the skills of a trial. The caller closes them. */
export async function openTrialSkills({
  config,
  runsScripts,
  revision,
}: TrialSetting): Promise<SkillRuntime> {
  const skills = await openSkills(config, {
    watching: 'off',
    runsScripts,
    needsState: revision !== undefined,
    decisions: stored => new TrialDecisions(stored),
    runtime: { catalog: { countTokens, ...config.catalog } },
  })
  if (revision !== undefined)
    await skills.review.pin(revision.skill, { revision: revision.digest, confirmHidden: true })
  return skills
}

/** Creates the agent that gets the messages, with the catalog that new conversations get now. */
export function createTrialAgent(
  skills: SkillRuntime,
  config: Config,
  without: readonly string[] = [],
): SkillAgent {
  const { scope } = config
  const limited =
    without.length === 0 ? scope : { ...scope, exclude: [...(scope?.exclude ?? []), ...without] }
  return new SkillAgent({
    skills,
    model: resolveModel(config.model),
    maxSteps: 8,
    ...defined({ scope: limited }),
  })
}

/** Opens what was measured in earlier runs. */
export async function openMeasured({ stateDirectory }: Config): Promise<TrialStore> {
  return await openTrialStore(join(stateDirectory, 'tests.sqlite'))
}
