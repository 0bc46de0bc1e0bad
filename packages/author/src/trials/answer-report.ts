import { escapeXml } from '../report/escape-xml.ts'
import type { AnswerCell, AnswerTrials } from './answer-trials.ts'

/**
 * Renders the answers of one or more skills, with all columns, as one HTML file without references to other files.
 *
 * @example
 * ```ts
 * import { renderAnswerReport } from '@skillstoke/author/trials'
 *
 * const spent = { calls: 0, inputTokens: 0, outputTokens: 0 }
 * const html = renderAnswerReport({ skill: 'support-pdf', columns: ['served'], rows: [], known: 0, spent })
 * console.log(html.includes('<th>served</th>')) // prints true
 * ```
 */
export function renderAnswerReport(...trials: readonly AnswerTrials[]): string {
  const title = `Answers of ${escapeXml(trials.map(({ skill }) => skill).join(', '))}`
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
table { border-collapse: collapse; width: 100% } th, td { border: 1px solid #8884; padding: .5rem; text-align: left; vertical-align: top }
pre { white-space: pre-wrap; margin: .5rem 0 0 } .fail { border-left: 4px solid #c33 } .pass { border-left: 4px solid #2a7 }
</style>
<h1>${title}</h1>
${trials.map(renderTable).join('')}</html>
`
}

function renderTable({ skill, columns, rows }: AnswerTrials): string {
  const head = columns.map(name => `<th>${escapeXml(name)}</th>`).join('')
  const body = rows.map(
    ({ message, cells }) =>
      `<tr><th scope="row">${escapeXml(message)}</th>${cells.map(renderCell).join('')}</tr>`,
  )
  return `<h2>${escapeXml(skill)}</h2>
<table><thead><tr><th>message</th>${head}</tr></thead><tbody>
${body.join('\n')}
</tbody></table>
`
}

function renderCell({ passed, runs, tokens, ms, cost, failures, text }: AnswerCell): string {
  const state = passed === runs && runs > 0 ? 'pass' : 'fail'
  const lacks = failures.length === 0 ? '' : `<br>${escapeXml(failures.join('; '))}`
  const price = cost === undefined ? '' : `, $${cost.toFixed(4)}`
  const figures = `${passed} of ${runs} pass, ${tokens} tokens, ${(ms / 1000).toFixed(1)} s${price}`
  return `<td class="${state}"><b>${figures}</b>${lacks}<details><summary>answer</summary><pre>${escapeXml(text)}</pre></details></td>`
}
