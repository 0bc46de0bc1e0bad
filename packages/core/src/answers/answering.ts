import type { CatalogFormatName } from '../catalog/catalog-format.ts'
import type { SkillCatalog } from '../catalog/render-catalog.ts'
import type { SkillScope } from '../catalog/scope.ts'
import type { SkillReport } from '../registry/skill-report.ts'
import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import type { CatalogUse } from './visibility.ts'

/** A text before and after a change. */
export interface TextChange {
  readonly path: string
  readonly before: string
  readonly after: string
  /** What the two sides are called, for example revisions. */
  readonly from: string
  readonly to: string
}

/** The runtime whose skills a question is about, and what its new conversations see. */
export interface Viewing {
  readonly skills: SkillRuntime
  /** Scope of new conversations. @default all skills */
  readonly scope?: SkillScope
  /** The catalog options of the runtime, and how to find out the size of a catalog. */
  readonly catalog: {
    readonly format: CatalogFormatName
    readonly maxTokens: number
    readonly measure: (catalog: SkillCatalog) => Pick<CatalogUse, 'tokens' | 'isEstimate'>
  }
}

/** The runtime that answers questions about its skills, and what the answers need from the host. */
export interface Answering extends Viewing {
  /** Returns the SKILL.md of a folder as it is now; `undefined` if it cannot be read. */
  readonly readNewest: (report: SkillReport) => Promise<string | undefined>
  /** Returns a unified diff. */
  readonly toPatch: (change: TextChange) => string
}
