import type { DiagnosticCode } from '@skillstoke/core'

/** Codes of the checks of this package. Codes that decide what is served belong to the core. */
export type CheckCode = 'DESCRIPTION_NO_TRIGGER'

export type FindingCode = DiagnosticCode | CheckCode
