import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, posix, resolve } from 'node:path'
import { checkLinks } from './check-links.ts'
import { checkSearch } from './check-search.ts'
import { CHROMIUM, makePictures } from './pictures.ts'

// Builds the documentation site into site/.tmp/html: the pages of docs/, ARCHITECTURE.md, and an API reference from the
// declarations of the packages. Fails if a link has no target. Build the packages before you run this program.

const REPOSITORY = 'https://github.com/skillstoke/skillstoke/blob/main/'
const ROOT = resolve(import.meta.dirname, '..')
// The target folder is inside the folder `site`, so that the pages can import the packages of the site.
const TARGET = join(import.meta.dirname, '.tmp')
const PAGES = join(TARGET, 'pages')
const HTML = join(TARGET, 'html')

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>
}

await step('prepare the pages', () => {
  rmSync(TARGET, { recursive: true, force: true })
  mkdirSync(PAGES, { recursive: true })
  cpSync(join(ROOT, 'docs'), PAGES, { recursive: true })
  cpSync(join(ROOT, 'ARCHITECTURE.md'), join(PAGES, 'architecture.md'))
  cpSync(join(import.meta.dirname, 'index.md'), join(PAGES, 'index.md'))
  for (const name of listPages(PAGES)) adaptPage(name)
})
await step('install VitePress and TypeDoc', install)
await step('write the API reference', writeApi)
if (existsSync(CHROMIUM)) await step('make the pictures', () => makePictures(join(PAGES, 'images')))
else console.log(`no browser at ${CHROMIUM} (set CHROMIUM): the site shows the pictures of docs/images`)
await step('build the site', () => run('vitepress', ['build', '.'], { SITE_PAGES: PAGES, SITE_OUTPUT: HTML }))
await step('check the links and the search', async () => {
  const { pages, links, broken } = checkLinks(HTML)
  const { questions, wrong } = await checkSearch(HTML)
  for (const line of [...broken, ...wrong]) console.error(line)
  console.log(
    `${pages} pages, ${links} links, ${broken.length} broken; ${questions} searches, ${wrong.length} find another page first`,
  )
  if (broken.length + wrong.length > 0) process.exitCode = 1
})

/** Names the step if it fails. */
async function step(name: string, work: () => void | Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    console.error(`The documentation was not built, because this step failed: ${name}`)
    console.error(error)
    process.exit(1)
  }
}

function install(): void {
  if (existsSync(join(import.meta.dirname, 'node_modules'))) return
  run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--silent'])
}

function run(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): void {
  const PATH = `${join(import.meta.dirname, 'node_modules/.bin')}:${process.env['PATH']}`
  const { status } = spawnSync(program, args, {
    cwd: import.meta.dirname,
    env: { ...process.env, PATH, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed`)
}

function listPages(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true })
    .map(String)
    .filter(name => name.endsWith('.md'))
}

/** Replaces links to files outside docs/ with links to the repository. Renames README.md to the index page of its folder. */
function adaptPage(name: string): void {
  const path = join(PAGES, name)
  // Path of the page in the repository.
  const original = name === 'architecture.md' ? 'ARCHITECTURE.md' : posix.join('docs', name)
  const text = readFileSync(path, 'utf8').replace(
    /\]\((?!https?:|mailto:|#|\/)([^)\s#]+)(#[^)\s]*)?\)/g,
    (_all, target: string, anchor = '') =>
      `](${adaptLink(posix.join(posix.dirname(original), target))}${anchor})`,
  )
  writeFileSync(path, text)
  if (!name.endsWith('README.md')) return
  cpSync(path, join(dirname(path), 'index.md'))
  rmSync(path)
}

/** @param target path from the root of the repository */
function adaptLink(target: string): string {
  if (target === 'ARCHITECTURE.md') return '/architecture.md'
  if (!target.startsWith('docs')) return REPOSITORY + target
  const inside = target.slice('docs'.length)
  if (inside === '' || inside === '/') return '/'
  if (!inside.endsWith('.md'))
    return existsSync(join(ROOT, target, 'README.md')) ? `${inside}/index.md` : inside
  return inside.replace(/README\.md$/, 'index.md')
}

interface EntryPoint {
  /** For example `@skillstoke/core/node`. */
  readonly name: string
  readonly types: string
}

function listEntryPoints(): readonly EntryPoint[] {
  return readdirSync(join(ROOT, 'packages')).flatMap(folder => {
    const path = join(ROOT, 'packages', folder)
    const manifest = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as Manifest
    if (manifest.private === true) return []
    return Object.entries(manifest.exports).flatMap(([key, target]) =>
      typeof target === 'string' || key.startsWith('./internal')
        ? []
        : [{ name: posix.join(manifest.name, key), types: join(path, target.types) }],
    )
  })
}

/** Writes one API page for each public entry point. The page describes all exported names. */
function writeApi(): void {
  const entries = listEntryPoints()
  const folder = join(TARGET, 'entries')
  mkdirSync(folder)
  // Write one file per entry point, because TypeDoc names the page of a module after its source file.
  const files = entries.map(({ name, types }) => {
    const file = join(folder, `${toFileName(name)}.ts`)
    writeFileSync(file, `export * from ${JSON.stringify(types.replace(/\.d\.ts$/, '.js'))}\n`)
    return file
  })
  const tsconfig = join(TARGET, 'tsconfig.json')
  const settings = {
    module: 'nodenext',
    target: 'esnext',
    lib: ['esnext'],
    types: ['node'],
    skipLibCheck: true,
    strict: true,
  }
  writeFileSync(
    tsconfig,
    JSON.stringify({
      compilerOptions: { ...settings, typeRoots: [join(ROOT, 'node_modules/@types')] },
      files,
    }),
  )
  const out = join(PAGES, 'api')
  const entryPoints = files.flatMap(file => ['--entryPoints', file])
  run('typedoc', [
    '--options',
    join(import.meta.dirname, 'typedoc.json'),
    '--out',
    out,
    '--tsconfig',
    tsconfig,
    ...entryPoints,
  ])
  for (const { name } of entries) {
    const page = join(out, `${toFileName(name)}.md`)
    const text = readFileSync(page, 'utf8').replace(/^# .*$/m, `# ${name}`)
    writeFileSync(page, mendAnchors(text))
  }
  const rows = entries.map(({ name }) => `| [${name}](${toFileName(name)}.md) |`)
  writeFileSync(
    join(out, 'index.md'),
    [
      '# API',
      '',
      'Every public name, by entry point. The declarations of the packages are the source of these pages.',
      '',
      '| entry point |',
      '|---|',
      ...rows,
      '',
    ].join('\n'),
  )
}

/**
 * Removes the number at the end of a link within the page, if the page has only one heading with this name. TypeDoc also
 * counts methods: `ClaudeAgent.options` and `ClaudeAgentOptions` have the same name for it.
 */
function mendAnchors(text: string): string {
  const headings = [...text.matchAll(/^#+ (\w+)$/gm)].map(([, heading = '']) => heading.toLowerCase())
  return text.replace(/\(#(\w+)-1\)/g, (link, anchor: string) =>
    headings.filter(heading => heading === anchor).length === 1 ? `(#${anchor})` : link,
  )
}

function toFileName(name: string): string {
  return name.replace('@skillstoke/', '').replaceAll('/', '-')
}
