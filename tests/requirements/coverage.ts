import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { REQUIREMENTS, type RequirementId } from './index.ts'
import type { Requirement, RequirementKind } from './requirement.ts'

/** A test that cites requirement rows. */
export interface Citation {
  readonly file: string
  readonly title: string
  readonly ids: readonly RequirementId[]
}

const FOLDERS = ['packages', 'tests', 'examples']
const SKIPPED = ['node_modules', 'dist', '.tmp', '.state']

/** Finds every citation in the text of the tests. Ignores tests marked skip, todo or fails. */
export function findCitations(): readonly Citation[] {
  return FOLDERS.flatMap(listTests).flatMap(file => {
    const text = readFileSync(file, 'utf8')
    return [...text.matchAll(/\$\{verifies\(([^)]*)\)\}/g)].flatMap(match => {
      const begin = text.lastIndexOf('`', match.index)
      if (/\.(?:skip|todo|fails)\b[^;]{0,40}$/.test(text.slice(0, begin))) return []
      const title = text.slice(begin + 1, match.index).trim()
      const ids = [...(match[1] ?? '').matchAll(/'([^']+)'/g)].map(id => id[1] as RequirementId)
      return [{ file, title, ids }]
    })
  })
}

function listTests(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return SKIPPED.includes(entry.name) ? [] : listTests(path)
    return entry.name.endsWith('.test.ts') ? [path] : []
  })
}

const SECTIONS: readonly (readonly [prefix: RegExp, title: string])[] = [
  [/^EXO-/, 'Exo: skills of long-running agents, reloaded while they run'],
  [/^OMNI-/, 'omni: code behind MCP commands, reloaded at the next call'],
  [/^CRAB-/, 'crabtalk: skills read at the moment of use'],
  [/^FOX-/, 'RustFox: agents that write skills'],
  [/^PAI-/, 'pai: skills in the instructions of each request'],
  [/^P\d/, 'Policies where the designs contradict each other'],
  [/^PROMISE-/, 'Promises of this project'],
]

const KINDS: Readonly<Record<RequirementKind, string>> = {
  described: 'described',
  beyond: 'real system',
  mistake: 'mistake, not repeated',
  policy: 'policy',
  promise: 'promise',
}

/** Renders the page that lists every row, each with the tests that prove it. */
export function renderRequirements(citations: readonly Citation[]): string {
  const rows: readonly Requirement[] = REQUIREMENTS
  const isProved = (id: string): boolean => citations.some(({ ids }) => ids.some(each => each === id))
  const described = rows.filter(({ kind }) => kind === 'described')
  const lines = [
    '# Requirements',
    '',
    'The requirements of Skillstoke, as rows that tests cite. `npm run requirements` writes this page from `tests/requirements/`',
    'and the titles of the tests. A test fails when a row is neither proved by a test nor declined on a page of decisions.',
    'Run the command again after you change a row or a test title.',
  ]
  for (const [prefix, title] of SECTIONS) {
    lines.push('', `## ${title}`, '', '| row | kind | behaviour | proved by |', '|---|---|---|---|')
    for (const row of rows.filter(({ id }) => prefix.test(id)))
      lines.push(
        `| ${row.id} | ${KINDS[row.kind]} | ${escapeCell(row.behaviour)} | ${describeProof(row, citations)} |`,
      )
  }
  const counts = Object.entries(KINDS).map(([kind, name]) => {
    const all = rows.filter(row => row.kind === kind)
    return `${name}: ${all.filter(({ id }) => isProved(id)).length} of ${all.length}`
  })
  lines.push('', `Proved, by kind. ${counts.join('; ')}.`)
  lines.push('', `${described.filter(({ id }) => isProved(id)).length} of ${described.length} proved`, '')
  return lines.join('\n')
}

function describeProof(row: Requirement, citations: readonly Citation[]): string {
  const proofs = citations.filter(({ ids }) => ids.some(id => id === row.id))
  const links = proofs.map(({ file, title }) => `[${basename(file)}](../../${file}): ${escapeCell(title)}`)
  if (row.declined !== undefined) links.push(`declined: [${basename(row.declined)}](../../${row.declined})`)
  return links.join('<br>')
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replace(/\s+/g, ' ').replaceAll('<', '&lt;')
}
