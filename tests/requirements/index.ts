import { CRAB } from './crab.ts'
import { EXO } from './exo.ts'
import { FOX } from './fox.ts'
import { OMNI } from './omni.ts'
import { PAI } from './pai.ts'
import { POLICIES } from './policies.ts'
import { PROMISES } from './promises.ts'

export type { Requirement, RequirementKind } from './requirement.ts'

/** Every row, in the order of the designs. */
export const REQUIREMENTS = [...EXO, ...OMNI, ...CRAB, ...FOX, ...PAI, ...POLICIES, ...PROMISES] as const

export type RequirementId = (typeof REQUIREMENTS)[number]['id']

/** Cites rows in the title of a test that fails when one of them is not true; to be put at its end. */
export function verifies(...ids: readonly [RequirementId, ...RequirementId[]]): string {
  return `[${ids.join(' ')}]`
}
