import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  CHECKS,
  type CheckRow,
  CLIENT_PROFILES,
  type Example,
  type FindingCode,
  findCheck,
} from '../packages/author/src/check/finding-table.ts'

// Writes docs/checks.md from the table of the checks, so that the page, the program and its tests cannot differ.

const PAGE = 'docs/checks.md'
const CORE_PAGE = 'docs/diagnostics.md'

const BEGINNING = `# Checks

Every code that \`stoke check\` and \`stoke lsp\` report, written by \`npm run checks-page\` from the table in the program. [Check skills](check-skills.md) explains the commands.

## Read a check

A section below names the severity of a check, the profiles that turn it on, and the edit that a finding may have.

| word | meaning |
|---|---|
| error | The skill, or its newest commands, are not served. \`stoke check\` exits with 1. |
| warning | A client or a reader will meet a fault. \`stoke check\` exits with 1. |
| info | Worth a look. \`stoke check\` exits with 0, or with 1 if you add \`--strict\`. |
| auto | \`stoke check --fix\` applies the edit: every client reads the same as before. |
| offer | An editor offers the edit. You decide, because the model reads something else afterwards. |
| profile | Turns a check on: \`--for codex\`. Checks without a profile are always on. |

No edit changes who sees a skill, what it may do, or which files it has. To silence a check for one line, write a comment above it. The first line of the instructions silences the whole file:

\`\`\`markdown
<!-- stoke-ignore LINK_DEAD: the file is generated -->
\`\`\`

To change a severity for a project, name the code in \`skillstoke.json\`: \`off\`, \`info\`, \`warning\` or \`error\`. Errors, \`HIDDEN_TEXT\` and \`SECRET_FOUND\` cannot be turned off. In skills of a reviewed source, comments silence nothing.
`

const REJECTED = `## Know what is not checked

Each check ran on 1,307 public skills, and people judged its findings. A check was rejected if more than 5 % of its findings were wrong:

- words such as "new", "currently", "TODO", "everything", "you": skills talk about them
- long descriptions, a missing full stop, "This skill ...": a matter of taste
- more than 500 lines: tokens decide (\`BODY_TOO_MANY_TOKENS\`)
- short instructions without headings: skills of one line are often good
- dead anchors, and files in folders that a skill creates in your project
- destructive commands, \`eval\`, \`curl\` piped to a shell: mostly block lists and installers; \`--for review\` lists them as facts
- tools that the text names but \`allowed-tools\` does not: the field approves tools, it does not limit them
- look-alike names that differ in one letter: often two libraries
- secrets by entropy alone
`

/** Renders the page. */
export function renderChecksPage(): string {
  const checks = Object.entries(CHECKS)
  return [
    BEGINNING,
    '## Find a code\n',
    'A code whose profile is not "all" is off until you name a profile. Codes with a link belong to the core, which decides what is served.\n',
    '| code | severity | profile | edit |',
    '|---|---|---|---|',
    ...checks.map(([code, row]) => `| \`${code}\` | ${describeRow(row).join(' | ')} |`),
    ...listCoreRows(),
    '',
    '## Correct a finding',
    '',
    ...checks.flatMap(([code, row]) => renderCheck(code, row)),
    REJECTED,
  ].join('\n')
}

function describeRow({ severity, profiles, profileSeverity = 'warning', fix }: CheckRow): readonly string[] {
  const isClients = profiles?.join() === CLIENT_PROFILES.join()
  const names = isClients ? 'any client' : (profiles?.map(each => `\`${each}\``).join(', ') ?? 'all')
  return [severity === 'off' ? profileSeverity : severity, names, fix]
}

/** Returns the rows of the codes of the core, in the order of their page. */
function listCoreRows(): readonly string[] {
  const text = readFileSync(CORE_PAGE, 'utf8')
  return [...text.matchAll(/^\| `([A-Z_]+)` \| (\w+)/gm)].map(([, code = '', usual = '']) => {
    const known = findCheck(code as FindingCode)
    const row = { severity: usual as CheckRow['severity'], fix: 'none', means: '', ...known } as const
    return `| [\`${code}\`](diagnostics.md) | ${describeRow(row).join(' | ')} |`
  })
}

function renderCheck(code: string, row: CheckRow): readonly string[] {
  const [severity = '', profile = '', fix = ''] = describeRow(row)
  const facts = [
    `Severity: ${severity}.`,
    ...(profile === 'all' ? [] : [`Profile: ${profile}.`]),
    ...(fix === 'none' ? [] : [`Edit: ${fix}.`]),
  ]
  const examples = [
    ...(row.bad === undefined ? [] : [`- bad: ${renderExample(row.bad)}`]),
    ...(row.good === undefined ? [] : [`- good: ${renderExample(row.good)}`]),
  ]
  const list = examples.length === 0 ? [] : [...examples, '']
  return [`### ${code}`, '', `${row.means} ${facts.join(' ')}`, '', ...list]
}

/** Text of a file is shown as code, and a description as prose. */
function renderExample({ shown, files }: Example): string {
  const isText = Object.values(files).some(text => text.includes(shown)) || /^\w[\w./-]*: /.test(shown)
  const line = shown.replaceAll('\n', ' ⏎ ')
  if (!isText) return line
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length))
  const mark = '`'.repeat(longest + 1)
  return longest === 0 ? mark + line + mark : `${mark} ${line} ${mark}`
}

if (process.argv[1] === resolve(import.meta.dirname, 'checks-page.ts')) {
  writeFileSync(PAGE, renderChecksPage())
  console.log(`wrote ${PAGE}`)
}
