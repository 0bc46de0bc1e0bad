import { setImmediate } from 'node:timers/promises'
import type { Finding } from '@skillstoke/author'
import type { SkillReport, SkillRuntime } from '@skillstoke/core'
import { type SkillRow, targetOf, toMessage } from '@skillstoke/core/internal'
import type { Config } from '../config/config.ts'
import { countTokens } from '../skills/tokens.ts'
import { type CheckSetting, checkReport } from './check-report.ts'

/** A row, or a report, whose findings and status `judge()` replaces. */
type Judged = Pick<SkillRow, 'status' | 'diagnostics'>

/** Replaces the diagnostics of a row with the findings of its check. A skill with a warning has the status `warning`. */
export function judge<Row extends Judged>(row: Row, findings: readonly Finding[] | undefined): Row {
  if (findings === undefined) return row
  const isDoubtful = findings.some(({ severity }) => severity !== 'info')
  const status =
    row.status === 'ok' || row.status === 'warning' ? (isDoubtful ? 'warning' : 'ok') : row.status
  return { ...row, status, diagnostics: findings }
}

/** Checks the folders of rows, and returns the rows with their findings. */
export async function judgeRows<Row extends SkillRow>(
  rows: readonly Row[],
  setting: CheckSetting,
): Promise<readonly Row[]> {
  const { skills } = setting
  const reports = new Map(skills.current.reports().map(report => [targetOf(report), report]))
  const judged: Row[] = []
  for (const row of rows) {
    const report = reports.get(row.target)
    // The row of a skill that waits may have more findings than its report.
    const { diagnostics } = row as Pick<SkillReport, 'diagnostics'>
    const findings = report && (await checkReport({ ...report, diagnostics }, setting))
    judged.push(judge(row, findings))
  }
  return judged
}

/** Checks the newest text of every folder, and returns the status of each report. */
export async function judgeStatuses(
  setting: CheckSetting,
): Promise<(report: SkillReport) => SkillReport['status']> {
  const findings = new SkillFindings(setting)
  const statuses = new Map<SkillReport, SkillReport['status']>()
  for (const report of setting.skills.current.reports())
    statuses.set(report, judge(report, await findings.check(report)).status)
  return report => statuses.get(report) ?? report.status
}

/** Returns how a configuration checks the skills of a runtime. */
export function toSetting(skills: SkillRuntime, { checks }: Pick<Config, 'checks'>): CheckSetting {
  return { skills, severities: checks, countTokens }
}

/** The findings of the skills of a running process. Checks each report once, in the background. */
export class SkillFindings {
  readonly #setting: CheckSetting
  readonly #onChecked: () => void
  readonly #known = new WeakMap<SkillReport, readonly Finding[]>()
  readonly #wanted = new Set<SkillReport>()
  #running: Promise<void> | undefined
  #isClosed = false

  /** @param onChecked called when all requested reports are checked */
  constructor(setting: CheckSetting, onChecked: () => void = () => undefined) {
    this.#setting = setting
    this.#onChecked = onChecked
  }

  /** Returns the findings of a report. Returns `undefined` until the report is checked. */
  get(report: SkillReport): readonly Finding[] | undefined {
    const known = this.#known.get(report)
    if (known === undefined) {
      this.#wanted.add(report)
      this.#running ??= this.#run()
    }
    return known
  }

  /** Checks a report now. */
  async check(report: SkillReport): Promise<readonly Finding[]> {
    const findings = this.#known.get(report) ?? (await checkReport(report, this.#setting))
    this.#known.set(report, findings)
    return findings
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#wanted.clear()
    await this.#running
  }

  async #run(): Promise<void> {
    for (const report of this.#wanted) {
      await setImmediate()
      if (this.#isClosed) return
      this.#wanted.delete(report)
      await this.#checkQuietly(report)
    }
    this.#running = undefined
    this.#onChecked()
  }

  /** A report that is replaced while it is checked may have lost its files. The new report is checked later. */
  async #checkQuietly(report: SkillReport): Promise<void> {
    try {
      await this.check(report)
    } catch (thrown) {
      // A process that ends may close the store during a check.
      if (this.#isClosed) return
      this.#known.set(report, [])
      process.emitWarning(`skillstoke: ${report.name} cannot be checked: ${toMessage(thrown)}`)
    }
  }
}
