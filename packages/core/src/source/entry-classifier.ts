import type { Awaitable, DirectoryEntry } from '../fs/file-system.ts'
import type { Diagnostic, DiagnosticCode } from '../skill/diagnostic.ts'
import { isRepository, isRepositoryEntry } from '../skill/git-layout.ts'
import { type EntryFinding, judgeLeftOut, REPOSITORY_FINDING, toDiagnostic } from '../skill/left-out.ts'
import { findLeftOutKind, isNeverRead } from '../skill/left-out-names.ts'
import type { SkillLimits } from '../skill/limits.ts'
import type { IgnoreRules } from '../skill/manifest.ts'
import type { ReadingPolicy } from '../skill/reading-policy.ts'
import { IGNORE_FILE_NAME, type LayoutRules } from './file-layout.ts'
import { joinPath, NOT_ASCII, pathWithin } from './mirror.ts'

/** The values of `SymlinkPolicy`. */
export const SYMLINK_POLICIES = ['within-root', 'follow', 'deny'] as const

/**
 * Which links inside a source are followed: links to targets in the root or an allowed folder, all links, or no links.
 */
export type SymlinkPolicy = (typeof SYMLINK_POLICIES)[number]

/** The rules of a source about its entries. */
export interface ClassifierOptions {
  readonly limits: SkillLimits
  readonly layout: LayoutRules
  readonly symlinks: SymlinkPolicy
  readonly nestedSkills: boolean
  readonly reading: Partial<ReadingPolicy>
  /** Returns how a path within the source is shown to people. */
  readonly displayPath: (path: string) => string
}

/** What decides about the entries of a directory: a directory of the mirror, or a folder of a fetched tree. */
export interface ClassifiedFolder {
  /** Path relative to the root; empty for the root. */
  readonly path: string
  /** Levels below the root. */
  readonly depth: number
  readonly parent: ClassifiedFolder | undefined
  /** Whether a SKILL.md in the directory, or below it, is a separate skill. */
  readonly isDiscoverable: boolean
  /** Name of the file with the skill's text, if the directory is the folder of a skill. */
  readonly skillFile: string | undefined
  /** The rules of its `.skillignore`. */
  readonly ignored: { readonly rules: IgnoreRules } | undefined
}

/** The directory whose entries are being classified. */
export interface EntryContext {
  readonly node: ClassifiedFolder
  /** Whether the directory is the folder of a skill or inside one. */
  readonly inSkill: boolean
  /** For each entry that is left out, a finding is added to this list. */
  readonly findings: Diagnostic[]
  /** Follows a link of the directory. Called only if the source follows links. */
  readonly followLink?: (name: string) => Promise<FollowedTarget>
}

/** What a link leads to, or why it is not followed. `undefined`: nothing that a source reads. */
export type FollowedTarget =
  | 'file'
  | { readonly realPath: string }
  | { readonly reason: string; readonly fix: string }
  | undefined

/**
 * `file`: a file of a skill. `standalone`: a file that is a skill by itself. An object: a directory to walk, with its
 * real path if it is a link. `undefined`: an entry to ignore.
 */
export type EntryClass = 'file' | 'standalone' | { readonly realPath?: string } | undefined

const SPECIAL_FILE = 'is not a regular file (a pipe, socket or device)'

/** Determines the class of each entry of a directory, and reports the entries that are left out of a skill. */
export class EntryClassifier {
  readonly #options: ClassifierOptions

  constructor(options: ClassifierOptions) {
    this.#options = options
  }

  /**
   * Removes the entries that are left out because of their names, and reports them inside of skills. An entry that
   * `.skillignore` excludes is not reported.
   */
  leaveOutEntries(all: readonly DirectoryEntry[], context: EntryContext): readonly DirectoryEntry[] {
    const entries = all.filter(entry => !this.#isOtherSpelling(entry.name, all, context))
    if (!context.inSkill) return entries.filter(({ name }) => !isNeverRead(name))
    const kept = entries.filter(entry => !this.#isLeftOut(entry, context))
    if (!isRepository(kept)) return kept
    this.#tell(context, context.node.path, REPOSITORY_FINDING)
    return kept.filter(({ name }) => !isRepositoryEntry(name))
  }

  #isLeftOut(entry: DirectoryEntry, context: EntryContext): boolean {
    const kind = findLeftOutKind(entry.name, entry.kind !== 'file')
    if (kind === undefined) return false
    const includesSecrets = this.#options.reading.secretFiles === 'include'
    const { isKept, finding } = judgeLeftOut(entry.name, kind, includesSecrets)
    if (finding !== undefined && !isIgnored(context.node, entry))
      this.#tell(context, joinPath(context.node.path, entry.name), finding)
    return !isKept
  }

  classify(entry: DirectoryEntry, context: EntryContext): Awaitable<EntryClass> {
    const { node, inSkill } = context
    const isSkillFile = entry.name === node.skillFile
    if (!isSkillFile && isIgnored(node, entry)) return undefined
    if (inSkill && this.#isTooDeep(node)) return this.#refuseDepth(context)
    // An entry that has the name of the skill's text file is never left out. If the entry is a pipe or a link out of
    // the root, the skill counts as broken and not as missing.
    if (isSkillFile) return 'file'
    if (entry.name.includes('\uFFFD')) {
      if (!inSkill) return undefined
      return this.#refuse(context, entry.name, 'has a name that is not UTF-8', 'rename it', 'FILE_SKIPPED')
    }
    switch (entry.kind) {
      case 'file':
        if (inSkill) return 'file'
        return this.#isStandalone(entry.name, node) ? 'standalone' : undefined
      case 'directory':
        return this.isWalked(entry.name, context) ? {} : undefined
      case 'other':
        if (!inSkill) return undefined
        return this.#refuse(context, entry.name, SPECIAL_FILE, 'remove it', 'FILE_SKIPPED')
      case 'link':
        return this.#classifyLink(entry.name, context)
      default:
        return entry.kind satisfies never
    }
  }

  /** Whether a SKILL.md in this subdirectory, or below it, is a separate skill. */
  isDiscoverable(parent: ClassifiedFolder, name: string, inSkill: boolean): boolean {
    const { limits, layout, nestedSkills } = this.#options
    const depth = parent.depth + 1
    if (!parent.isDiscoverable || depth > limits.maxDiscoveryDepth || layout.isSkipped(name, depth))
      return false
    return nestedSkills || !inSkill
  }

  #isStandalone(name: string, parent: ClassifiedFolder): boolean {
    return parent.isDiscoverable && this.#options.layout.isStandalone(name, parent.depth + 1)
  }

  async #classifyLink(name: string, context: EntryContext): Promise<EntryClass> {
    const { inSkill, followLink } = context
    if (this.#options.symlinks === 'deny' || followLink === undefined) {
      if (!inSkill) return undefined
      const reason = 'is a link, and this source does not follow links'
      return this.#refuse(context, name, reason, 'replace the link with the file')
    }
    const target = await followLink(name)
    if (target === undefined) return undefined
    if (target === 'file') return inSkill ? 'file' : undefined
    if ('reason' in target) return this.#refuse(context, name, target.reason, target.fix)
    return target
  }

  /** Whether another entry has the same name in composed (NFC) spelling. Of two such entries, the composed one is used. */
  #isOtherSpelling(name: string, entries: readonly DirectoryEntry[], context: EntryContext): boolean {
    if (!NOT_ASCII.test(name)) return false
    const composed = name.normalize('NFC')
    if (composed === name || !entries.some(entry => entry.name === composed)) return false
    this.#tell(context, joinPath(context.node.path, name), {
      ...({ code: 'PATH_COLLISION', severity: 'error' } as const),
      reason: `exists twice, in different Unicode spellings${context.inSkill ? '' : '; this entry is not read'}`,
      fix: 'rename one of the two',
    })
    return true
  }

  /** Whether a directory is walked. Outside of skills, only directories that may contain skills are walked. */
  isWalked(name: string, { node, inSkill }: Pick<EntryContext, 'node' | 'inSkill'>): boolean {
    return inSkill || this.isDiscoverable(node, name, inSkill)
  }

  /**
   * Whether a directory is so deep in its skill that its entries would exceed the depth limit. The directory is allowed
   * if it is empty.
   */
  #isTooDeep(node: ClassifiedFolder): boolean {
    const { maxFolderDepth } = this.#options.limits
    if (node.depth < maxFolderDepth) return false
    let outermost = node
    for (let at: ClassifiedFolder | undefined = node; at !== undefined; at = at.parent)
      if (at.skillFile !== undefined) outermost = at
    return node.depth - outermost.depth >= maxFolderDepth
  }

  /** Reports, once per directory, that the directory has entries that are too deep. */
  #refuseDepth(context: EntryContext): undefined {
    if (context.findings.some(({ code }) => code === 'FOLDER_TOO_DEEP')) return undefined
    this.#tell(context, context.node.path, {
      ...({ code: 'FOLDER_TOO_DEEP', severity: 'error' } as const),
      reason: `has entries more than ${this.#options.limits.maxFolderDepth} levels deep in its skill`,
      fix: 'move them up, or list the folder in .skillignore',
    })
    return undefined
  }

  #refuse(
    context: EntryContext,
    name: string,
    reason: string,
    fix: string,
    code: DiagnosticCode = 'LINK_REFUSED',
  ): undefined {
    this.#tell(context, joinPath(context.node.path, name), { code, severity: 'warning', reason, fix })
    return undefined
  }

  #tell({ findings }: EntryContext, path: string, finding: EntryFinding): void {
    findings.push(toDiagnostic(finding, path, this.#options.displayPath(path)))
  }
}

/**
 * Whether a `.skillignore` above the entry excludes it. A `.skillignore` cannot exclude itself, because its rules decide
 * which files the skill has and so must be part of the revision.
 */
function isIgnored(node: ClassifiedFolder, entry: DirectoryEntry): boolean {
  if (entry.name === IGNORE_FILE_NAME) return false
  for (let at: ClassifiedFolder | undefined = node; at !== undefined; at = at.parent) {
    if (at.ignored === undefined) continue
    const within = pathWithin(at, node)
    if (at.ignored.rules(joinPath(within, entry.name), entry.kind === 'directory')) return true
  }
  return false
}
