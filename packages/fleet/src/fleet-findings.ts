import { defined } from '@skillstoke/core/internal'

/** Something that is wrong, or could be better. */
export interface FleetFinding {
  readonly severity: 'error' | 'warning'
  readonly message: string
  readonly fix?: string
}

/** Collects what an examination finds. */
export class FleetFindings {
  readonly all: FleetFinding[] = []

  error(message: string, fix?: string): void {
    this.all.push({ severity: 'error', message, ...defined({ fix }) })
  }

  warn(message: string, fix?: string): void {
    this.all.push({ severity: 'warning', message, ...defined({ fix }) })
  }
}
