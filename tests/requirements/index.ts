import { CRAB } from './crab.ts'
import { EXO } from './exo.ts'
import { FOX } from './fox.ts'
import { OMNI } from './omni.ts'
import { PAI } from './pai.ts'
import { POLICIES } from './policies.ts'
import { PROMISES } from './promises.ts'

export type { Requirement, RequirementKind } from './requirement.ts'

/** All rows, in the order of the designs. */
export const REQUIREMENTS = [...EXO, ...OMNI, ...CRAB, ...FOX, ...PAI, ...POLICIES, ...PROMISES] as const

export type RequirementId = (typeof REQUIREMENTS)[number]['id']

/** Cites requirement rows at the end of a test title. If the behaviour of a row is broken, the test must fail. */
export function verifies(...ids: readonly [RequirementId, ...RequirementId[]]): string {
  return `[${ids.join(' ')}]`
}
