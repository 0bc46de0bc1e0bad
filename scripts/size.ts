import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'

// node scripts/size.ts: prints how large the project is. Counts lines of code without comments, blank lines, tests and
// conformance suites. `npm run check` prints it, too.

interface Size {
  readonly what: string
  readonly count: number
  readonly details?: string
}

/** Measures the sources and the pages below the working directory. */
async function measureSize(): Promise<readonly Size[]> {
  const sources = await read('packages/*/src/**/*.{ts,tsx}', path => !/\.test(-d)?\.|conformance/.test(path))
  const pages = await read('**/*.md', path => !/node_modules|\.changeset|requirements\/|CHANGELOG/.test(path))
  const linesOf = (files: readonly File[]): number => sum(files.map(({ text }) => countLines(text)))
  const packages = [...new Set(sources.map(({ path }) => path.split('/')[1] as string))].map(name => ({
    name,
    lines: linesOf(sources.filter(({ path }) => path.startsWith(`packages/${name}/`))),
  }))
  const fields = sources.flatMap(({ path, text }) => countMutableFields(text).map(count => ({ path, count })))
  const most = fields.sort((a, b) => b.count - a.count)[0]
  const core = JSON.parse(readFileSync('packages/core/package.json', 'utf8')) as {
    exports: Record<string, unknown>
    dependencies?: Record<string, string>
  }
  return [
    {
      what: 'lines of code',
      count: linesOf(sources),
      details: packages.map(({ name, lines }) => `${name} ${lines}`).join(', '),
    },
    { what: 'files', count: sources.length },
    { what: 'mutable fields of one class', count: most?.count ?? 0, details: most?.path ?? '' },
    { what: 'entry points of the core', count: Object.keys(core.exports).length },
    { what: 'dependencies of the core', count: Object.keys(core.dependencies ?? {}).length },
    { what: 'words in pages', count: sum(pages.map(({ text }) => text.split(/\s+/).length)) },
  ]
}

interface File {
  readonly path: string
  readonly text: string
}

async function read(pattern: string, isCounted: (path: string) => boolean): Promise<readonly File[]> {
  const files: File[] = []
  for await (const path of glob(pattern, { exclude: ['**/node_modules', '**/dist'] }))
    if (isCounted(path)) files.push({ path, text: readFileSync(path, 'utf8') })
  return files
}

/** Counts lines that are neither blank nor comments. Comments have lines of their own here. */
function countLines(text: string): number {
  let isComment = false
  return text.split('\n').filter(line => {
    const trimmed = line.trim()
    if (isComment || trimmed.startsWith('/*') || trimmed.startsWith('{/*')) {
      isComment = !trimmed.includes('*/')
      return false
    }
    return trimmed !== '' && !trimmed.startsWith('//')
  }).length
}

/** Returns the number of private fields that can change, for each class. */
function countMutableFields(text: string): readonly number[] {
  return text
    .split(/^(?=(?:export )?(?:abstract )?class )/m)
    .map(part => [...part.matchAll(/^ {2}#\w+\s*(?:[:=]|\?:)/gm)].length)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}

/** Prints a line for each measure. */
export async function printSize(): Promise<void> {
  for (const { what, count, details = '' } of await measureSize())
    process.stdout.write(`${String(count).padStart(8)}  ${what}${details === '' ? '' : ` (${details})`}\n`)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await printSize()
