import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { compareText } from '@skillstoke/core/internal'
import { orFail } from '../config/read-text.ts'
import type { Answer } from '../terminal/answer.ts'
import { EXIT_FINDINGS, EXIT_OK, UsageError } from '../terminal/exit-code.ts'
import { AGENT_SDKS, type AgentSdk } from './agent-sdks.ts'

/** The programs of the documentation. The build copies them. */
const PROGRAMS = new URL('dist/attach/', import.meta.resolve('skillstoke/package.json'))
const PAGES = 'https://github.com/skillstoke/skillstoke/blob/main/docs'

/** The answer for one SDK. */
interface Attachment {
  readonly sdk: string
  /** The package of the project that shows the SDK; null if the user named the SDK. */
  readonly package: string | null
  /** The installed version; null if it is not installed. */
  readonly version: string | null
  readonly tested: string
  /** The command that installs the missing packages; null if nothing is missing. */
  readonly install: string | null
  /** A whole program that attaches live skills. */
  readonly program: string
  readonly page: string
}

interface Project {
  readonly folder: string
  readonly dependencies: readonly string[]
}

/** Implements `stoke attach`: prints the program that attaches live skills to the SDK of a project. */
export function attach(_flags: object, named?: string): Answer {
  const project = findProject(process.cwd())
  const sdks = named === undefined ? findSdks(project) : [findNamed(named)]
  const attachments = sdks.map(sdk => toAttachment(sdk, project))
  return {
    json: attachments,
    text: () => [attachments.length === 0 ? describeNone(project) : attachments.map(describe).join('\n\n')],
    exit: attachments.length === 0 ? EXIT_FINDINGS : EXIT_OK,
  }
}

/** Finds the nearest `package.json` in a folder or above it. */
function findProject(start: string): Project | undefined {
  for (let folder = resolve(start); ; folder = dirname(folder)) {
    const file = join(folder, 'package.json')
    if (existsSync(file)) return { folder, dependencies: readDependencies(file) }
    if (folder === dirname(folder)) return undefined
  }
}

function readDependencies(file: string): readonly string[] {
  const manifest = orFail(`${file} cannot be read`, () => JSON.parse(readFileSync(file, 'utf8')) as unknown)
  const fields = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies']
  return fields.flatMap(field =>
    Object.keys((manifest as Record<string, Record<string, string> | undefined> | null)?.[field] ?? {}),
  )
}

function findSdks(project: Project | undefined): readonly AgentSdk[] {
  if (project === undefined) return []
  const found = AGENT_SDKS.filter(sdk => findPackage(sdk, project) !== undefined)
  // A project with an agent SDK usually has the client of a model only for that SDK.
  return found.length > 1 ? found.filter(({ id }) => id !== 'loop') : found
}

function findPackage({ packages }: AgentSdk, project: Project | undefined): string | undefined {
  return packages.find(name => project?.dependencies.includes(name))
}

function findNamed(name: string): AgentSdk {
  const isNamed = ({ id, packages }: AgentSdk): boolean => id === name || packages.includes(name)
  const sdk = AGENT_SDKS.find(isNamed)
  if (sdk !== undefined) return sdk
  const ids = AGENT_SDKS.map(({ id }) => id).join(', ')
  throw new UsageError(`there is no adapter for ${JSON.stringify(name)}; use one of ${ids}`)
}

function toAttachment(sdk: AgentSdk, project: Project | undefined): Attachment {
  const name = findPackage(sdk, project)
  const program = readFileSync(new URL(`${sdk.id}.txt`, PROGRAMS), 'utf8')
  const missing = findImported(program).filter(imported => project?.dependencies.includes(imported) !== true)
  return {
    sdk: sdk.id,
    package: name ?? null,
    version: readVersion(name, project),
    tested: sdk.tested,
    install: missing.length === 0 ? null : `npm install ${missing.join(' ')}`,
    program,
    page: `${PAGES}/sdks/${sdk.id}.md`,
  }
}

/** Returns the npm packages that a program imports, in alphabetical order. */
function findImported(program: string): readonly string[] {
  const found = program.matchAll(/^import .* from '((?:@[^/']+\/)?[^/']+)/gm)
  return [...new Set([...found].flatMap(([, name]) => name ?? []))].sort(compareText)
}

/** Returns the environment variables that a program reads. */
function findVariables(program: string): readonly string[] {
  return [...new Set([...program.matchAll(/process\.env\['(\w+)'\]/g)].flatMap(([, name]) => name ?? []))]
}

function readVersion(name: string | undefined, project: Project | undefined): string | null {
  if (name === undefined || project === undefined) return null
  const file = join(project.folder, 'node_modules', name, 'package.json')
  if (!existsSync(file)) return null
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { readonly version?: string }
  return version ?? null
}

function describe({ sdk, package: name, version, tested, install, program, page }: Attachment): string {
  const found = name === null ? sdk : [name, version].filter(part => part !== null).join(' ')
  return [
    `// ${found}; the adapter is tested with ${tested}`,
    ...(install === null ? [] : [`// ${install}`]),
    `// ${page}`,
    `// Set ${findVariables(program).join(' and ')}, and call main(). Or copy the lines about skills into your agent.`,
    '',
    program.trimEnd(),
  ].join('\n')
}

function describeNone(project: Project | undefined): string {
  const place =
    project === undefined
      ? 'there is no package.json in this folder or above it; name an agent SDK:'
      : `${project.folder} uses no agent SDK that has an adapter; name one:`
  const known = AGENT_SDKS.map(({ id, packages }) => `  stoke attach ${id.padEnd(18)} ${packages.join(', ')}`)
  return [place, ...known, `For another loop, see ${PAGES}/agents.md`].join('\n')
}
