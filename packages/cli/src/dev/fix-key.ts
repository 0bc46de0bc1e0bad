import type { SkillRuntime } from '@skillstoke/core'
import { type FixedFile, planFixes, toPatch, writeFixes } from '../check/fix-files.ts'
import type { SkillFindings } from '../check/skill-findings.ts'
import { isInRoot } from '../skills/open-skills.ts'
import { nearPath, paint, toTerminalLine } from '../terminal/output.ts'
import { paintDiff } from '../terminal/paint-diff.ts'

/** The key `f`: applies safe edits at once, and an edit that changes what the model reads only after it was shown. */
export class FixKey {
  readonly #skills: SkillRuntime
  readonly #findings: SkillFindings
  readonly #print: (line: string) => void
  /** The file as the last press showed it. */
  #offered: FixedFile | undefined

  constructor(skills: SkillRuntime, findings: SkillFindings, print: (line: string) => void) {
    this.#skills = skills
    this.#findings = findings
    this.#print = print
  }

  async press(): Promise<void> {
    const offered = this.#offered
    this.#offered = undefined
    const findings = await this.#listFindings()
    const planned = offered === undefined ? planFixes(findings) : [offered]
    const faults: string[] = []
    const written = writeFixes(planned, message => faults.push(message))
    for (const fault of faults) this.#print(toTerminalLine(fault))
    for (const { path, count } of written)
      this.#print(
        `${paint('green', 'FIXED')} ${toTerminalLine(nearPath(path))}: ${count} ${count === 1 ? 'edit' : 'edits'}`,
      )
    if (planned.length > written.length + faults.length)
      this.#print('a file changed in the meantime, so it was left as it is')
    if (planned.length > 0) return
    const offers = findings.filter(({ edit }) => edit?.kind === 'offer')
    const found = offers.values().map(offer => ({ offer, file: planFixes([offer], ['offer'])[0] }))
    const { offer, file } = found.find(each => each.file !== undefined) ?? {}
    if (file === undefined)
      this.#print(
        findings.length === 0
          ? 'there are no findings'
          : 'f cannot fix the findings that are left; press o to see them on the page and edit the text',
      )
    else this.#offer(file, offer?.message ?? '')
  }

  #offer(file: FixedFile, message: string): void {
    this.#offered = file
    this.#print(
      `${toTerminalLine(message)}\n${paintDiff(toPatch({ ...file, path: nearPath(file.path) })).trimEnd()}`,
    )
    this.#print(paint('dim', 'the model reads something else after this edit; press f again to apply it'))
  }

  /** Lists the findings in folders whose owner is the user of this process. */
  async #listFindings(): Promise<Awaited<ReturnType<SkillFindings['check']>>> {
    const own = this.#skills.current
      .reports()
      .filter(report => report.directory !== undefined && isInRoot(report, this.#skills))
    return (await Promise.all(own.map(report => this.#findings.check(report)))).flat()
  }
}
