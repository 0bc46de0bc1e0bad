import { existsSync } from 'node:fs'
import { basename, join, relative, resolve, sep } from 'node:path'
import {
  type CheckOptions,
  checkSkill,
  type Finding,
  type OtherSkill,
  type SkillToCheck,
} from '@skillstoke/author'
import { toFindings } from '@skillstoke/author/internal'
import {
  type Diagnostic,
  type Generation,
  parseSkill,
  type Skill,
  type SkillReport,
  type SkillRuntime,
} from '@skillstoke/core'
import {
  checkCapabilities,
  decodeText,
  decodeUnmarkedText,
  defined,
  mayBeImported,
} from '@skillstoke/core/internal'
import { isFrozen } from '../skills/open-skills.ts'
import { readNewestBytes } from '../skills/read-newest.ts'
import { findShellFaults } from './shell-faults.ts'

/** Where a folder of skills is checked. */
export interface CheckSetting extends CheckOptions {
  readonly skills: SkillRuntime
  /** Whether the scripts are scanned. A runtime that loads the scripts reports their faults itself. @default false */
  readonly scans?: boolean
  /** Whether bash reads the shell scripts. @default false */
  readonly asksBash?: boolean
  /** Absolute paths of files that are under version control, but are no part of a skill. */
  readonly leftovers?: readonly string[]
  /** A text that is checked instead of the saved SKILL.md. @default the newest text */
  readonly text?: string
}

/** Checks the newest text of a folder, even if the text is not served, or a text that is not saved. */
export async function checkReport(
  report: SkillReport,
  { skills, scans, asksBash, leftovers, text, ...options }: CheckSetting,
): Promise<readonly Finding[]> {
  const skill = await readReported(report, { skills, ...defined({ scans, asksBash, leftovers, text }) })
  // The files of a skill that was never loaded may still be on another machine.
  return skill === undefined
    ? toFindings(report.diagnostics, options)
    : await checkSkill({ ...skill, others: listOthers(skills) }, options)
}

/** Reads the newest text of a folder, and its files. Returns `undefined` if they are not on this machine. */
export async function readReported(
  report: SkillReport,
  { skills, scans = false, asksBash = false, leftovers = [], text }: Omit<CheckSetting, keyof CheckOptions>,
): Promise<SkillToCheck | undefined> {
  const own = skills.review.revisionsOf(report).skill
  // A broken revision has no list of files, and the live one has nearly the same.
  const skill = own ?? (text === undefined ? undefined : skills.current.find(report.name))
  const bytes = text === undefined ? await readBytes(report, skill, skills) : new TextEncoder().encode(text)
  if (bytes === undefined) return undefined
  const folder = report.directory ?? report.location
  const place = { path: join(folder, skill?.skillFile ?? 'SKILL.md'), directoryName: basename(folder) }
  const saved = report.diagnostics.map(each => withWholePath(each, report))
  const diagnostics = text === undefined ? saved : parseSkill(bytes, place).diagnostics
  const scripts = skill !== undefined && scans ? await findScriptFaults(skill, folder, skills) : []
  const read = skill === undefined ? undefined : toReader(skill, skills)
  if (asksBash && read !== undefined)
    scripts.push(...(await findShellFaults(skill?.files ?? [], folder, read)))
  return {
    ...place,
    bytes,
    diagnostics: [...diagnostics, ...scripts],
    isReviewed: report.status === 'pending' || isFrozen(skills) || isReviewed(report, skills),
    leftovers: leftovers.flatMap(path =>
      path.startsWith(folder + sep) ? relative(folder, path).split(sep).join('/') : [],
    ),
    ...(skill === undefined || read === undefined ? {} : { files: skill.files, read }),
    ...(report.directory === undefined ? {} : { exists: each => existsSync(join(folder, each)) }),
  }
}

/** A source shows paths as the user wrote its root. Findings of one file must have one path. */
function withWholePath(finding: Diagnostic, { directory }: SkillReport): Diagnostic {
  return finding.path === undefined || directory === undefined
    ? finding
    : { ...finding, path: resolve(finding.path) }
}

/** Whether somebody else may change the source of a report. */
export function isReviewed({ source }: Pick<SkillReport, 'source'>, skills: SkillRuntime): boolean {
  return skills.status().some(({ label, trust }) => label === source && trust === 'review')
}

const others = new WeakMap<Generation, readonly OtherSkill[]>()

/** Lists the skills whose files a text may name. */
function listOthers({ current }: SkillRuntime): readonly OtherSkill[] {
  const known = others.get(current)
  if (known !== undefined) return known
  const listed = current
    .list()
    .map(({ name, files }) => ({ name, paths: new Set(files.map(({ path }) => path)) }))
  others.set(current, listed)
  return listed
}

async function readBytes(
  report: SkillReport,
  skill: Skill | undefined,
  skills: SkillRuntime,
): Promise<Uint8Array | undefined> {
  if (skill === undefined) return await readNewestBytes(report)
  return skills.isStored(skill) ? await skills.readFile(skill, skill.skillFile) : undefined
}

function toReader(skill: Skill, skills: SkillRuntime): (path: string) => Promise<string | undefined> {
  return async path => decode(await skills.readFile(skill, path))
}

/** Returns a text with its byte order mark, because edits count its position; `undefined` for bytes that are not text. */
export function decode(bytes: Uint8Array): string | undefined {
  return bytes.includes(0) ? undefined : decodeText(bytes)
}

/** Checks the declarations and imports of the scripts of a skill, but does not run the scripts. */
async function findScriptFaults(skill: Skill, folder: string, skills: SkillRuntime): Promise<Diagnostic[]> {
  const texts = skill.files.map(async ({ path, digest }) => ({
    path,
    digest,
    text: mayBeImported(path) ? decodeUnmarkedText(await skills.readFile(skill, path)) : '',
  }))
  // Loaded only here, because the parser of scripts is large.
  const { scanScripts } = await import('@skillstoke/scripts')
  const { diagnostics } = await scanScripts(skill.name, await Promise.all(texts))
  return [...diagnostics, ...checkCapabilities(skill)].map(each => ({
    ...each,
    path: join(folder, each.path ?? skill.skillFile),
  }))
}
