import { SkillError, toMessage } from '../errors.ts'
import type { Awaitable, DirectoryEntry, FileSystem } from '../fs/file-system.ts'
import { isInside } from '../is-inside.ts'
import { quote } from '../quote.ts'
import type { Diagnostic, DiagnosticCode, Severity } from '../skill/diagnostic.ts'
import { findLeftOutKind, isNeverRead } from '../skill/entry-names.ts'
import { isRepository, isRepositoryEntry } from '../skill/git-layout.ts'
import { judgeLeftOut, type LeftOutFinding, REPOSITORY_FINDING } from '../skill/left-out.ts'
import type { SkillLimits } from '../skill/limits.ts'
import type { ReadingPolicy } from '../skill/reading-policy.ts'
import { IGNORE_FILE_NAME, type LayoutRules } from './file-layout.ts'
import { type DirectoryNode, owningSkills, pathWithin, realPathOf, type ScanPass } from './mirror.ts'

/** The values of `SymlinkPolicy`. */
export const SYMLINK_POLICIES = ['within-root', 'follow', 'deny'] as const

/**
 * Which links inside a source are followed: links to targets in the root or an allowed folder, all links, or no links.
 */
export type SymlinkPolicy = (typeof SYMLINK_POLICIES)[number]

export interface ClassifierOptions {
  readonly fileSystem: FileSystem
  readonly limits: SkillLimits
  readonly layout: LayoutRules
  readonly symlinks: SymlinkPolicy
  readonly nestedSkills: boolean
  readonly reading: Partial<ReadingPolicy>
  /** Returns how a path within the source is shown to people. */
  readonly displayPath: (path: string) => string
}

/** The directory whose entries are being classified. */
export interface EntryContext {
  readonly node: DirectoryNode
  /** Its absolute path. */
  readonly path: string
  /** Whether the directory is the folder of a skill or inside one. */
  readonly inSkill: boolean
  readonly pass: ScanPass
  /** For each entry that is left out, a finding is added to this list. */
  readonly findings: Diagnostic[]
}

/**
 * `file`: a file of a skill. `standalone`: a file that is a skill by itself. An object: a directory to walk, with its
 * real path if it is a link. `undefined`: an entry to ignore.
 */
export type EntryClass = 'file' | 'standalone' | { readonly realPath?: string } | undefined

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
  leaveOutEntries(entries: readonly DirectoryEntry[], context: EntryContext): readonly DirectoryEntry[] {
    if (!context.inSkill) return entries.filter(({ name }) => !isNeverRead(name))
    const kept = entries.filter(entry => !this.#isLeftOut(entry, context))
    if (!isRepository(kept)) return kept
    this.#tellLeftOut(context, context.node.path, REPOSITORY_FINDING)
    return kept.filter(({ name }) => !isRepositoryEntry(name))
  }

  #isLeftOut(entry: DirectoryEntry, context: EntryContext): boolean {
    const kind = findLeftOutKind(entry.name, entry.kind !== 'file')
    if (kind === undefined) return false
    const includesSecrets = this.#options.reading.secretFiles === 'include'
    const { isKept, finding } = judgeLeftOut(entry.name, kind, includesSecrets)
    if (finding !== undefined && !isIgnored(context.node, entry))
      this.#tellLeftOut(context, childPath(context.node, entry.name), finding)
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
      if (inSkill)
        this.#tell(context, entry.name, 'FILE_SKIPPED', 'has a name that is not UTF-8', 'rename it')
      return undefined
    }
    switch (entry.kind) {
      case 'file':
        if (inSkill) return 'file'
        return this.#isStandalone(entry.name, node) ? 'standalone' : undefined
      case 'directory':
        return this.#isWalked(entry.name, context) ? {} : undefined
      case 'other':
        if (inSkill) {
          const reason = 'is not a regular file (a pipe, socket or device)'
          this.#tell(context, entry.name, 'FILE_SKIPPED', reason, 'remove it')
        }
        return undefined
      case 'link':
        return this.#classifyLink(entry.name, context)
      default:
        return entry.kind satisfies never
    }
  }

  /** Whether a SKILL.md in this subdirectory, or below it, is a separate skill. */
  isDiscoverable(parent: DirectoryNode, name: string, inSkill: boolean): boolean {
    const { limits, layout, nestedSkills } = this.#options
    const depth = parent.depth + 1
    if (!parent.isDiscoverable || depth > limits.maxDiscoveryDepth || layout.isSkipped(name, depth))
      return false
    return nestedSkills || !inSkill
  }

  #isStandalone(name: string, parent: DirectoryNode): boolean {
    return parent.isDiscoverable && this.#options.layout.isStandalone(name, parent.depth + 1)
  }

  async #classifyLink(name: string, context: EntryContext): Promise<EntryClass> {
    const { path, inSkill } = context
    const { fileSystem, symlinks } = this.#options
    if (symlinks === 'deny') {
      if (!inSkill) return undefined
      return this.#refuse(
        context,
        name,
        'is a link, and this source does not follow links',
        'replace the link with the file',
      )
    }
    try {
      const target = await fileSystem.stat(`${path}/${name}`)
      if (target.kind === 'directory') return await this.#classifyDirectoryLink(name, context)
      if (!inSkill) return undefined
      if (target.kind === 'file') return 'file'
      return this.#refuse(context, name, 'links to a special file', 'remove the link')
    } catch (thrown) {
      context.node.isRacy = true // the target may appear without a change here, so every sweep lists the directory again
      if (!inSkill && !SkillError.isInstance(thrown, 'IO_FAILED')) return undefined
      return this.#refuse(
        context,
        name,
        `cannot be followed: ${toMessage(thrown)}`,
        'point the link at an existing file',
      )
    }
  }

  async #classifyDirectoryLink(name: string, context: EntryContext): Promise<EntryClass> {
    const { node, path, pass } = context
    if (!this.#isWalked(name, context)) return undefined
    const realPath = await this.#options.fileSystem.resolve(`${path}/${name}`)
    if (!pass.insideFolders.some(folder => isInside(realPath, folder))) {
      const reason = `links to ${quote(realPath)}, which is outside the root`
      return this.#refuse(
        context,
        name,
        reason,
        'copy the folder; allow it with linkRoots or --link-root only if agents may read all of it',
      )
    }
    for (let at: DirectoryNode | undefined = node; at !== undefined; at = at.parent) {
      if (isInside(realPathOf(at, pass.rootRealPath), realPath)) {
        return this.#refuse(context, name, 'links back to a folder above it', 'remove the link')
      }
    }
    return { realPath }
  }

  /** Whether a directory is walked. Outside of skills, only directories that may contain skills are walked. */
  #isWalked(name: string, { node, inSkill }: EntryContext): boolean {
    return inSkill || this.isDiscoverable(node, name, inSkill)
  }

  /**
   * Whether a directory is so deep in its skill that its entries would exceed the depth limit. The directory is allowed
   * if it is empty.
   */
  #isTooDeep(node: DirectoryNode): boolean {
    const { maxFolderDepth } = this.#options.limits
    if (node.depth < maxFolderDepth) return false
    const outermost = owningSkills(node).at(-1)
    return node.depth - (outermost?.depth ?? 0) >= maxFolderDepth
  }

  /** Reports, once per directory, that the directory has entries that are too deep. */
  #refuseDepth({ node, findings }: EntryContext): undefined {
    if (findings.some(({ code }) => code === 'FOLDER_TOO_DEEP')) return undefined
    const { displayPath, limits } = this.#options
    findings.push(
      toFinding(displayPath, {
        code: 'FOLDER_TOO_DEEP',
        severity: 'error',
        path: node.path,
        reason: `has entries more than ${limits.maxFolderDepth} levels deep in its skill`,
        fix: 'move them up, or list the folder in .skillignore',
      }),
    )
    return undefined
  }

  #refuse(context: EntryContext, name: string, reason: string, fix: string): undefined {
    this.#tell(context, name, 'LINK_REFUSED', reason, fix)
    return undefined
  }

  #tellLeftOut({ findings }: EntryContext, path: string, finding: LeftOutFinding): void {
    findings.push(toFinding(this.#options.displayPath, { ...finding, path }))
  }

  #tell(
    { node, findings }: EntryContext,
    name: string,
    code: DiagnosticCode,
    reason: string,
    fix: string,
  ): void {
    findings.push(
      toFinding(this.#options.displayPath, {
        code,
        severity: 'warning',
        path: childPath(node, name),
        reason,
        fix,
      }),
    )
  }
}

interface Finding {
  readonly code: DiagnosticCode
  readonly severity: Severity
  /** Path within the source. */
  readonly path: string
  /** The second half of a sentence that begins with the file name. */
  readonly reason: string
  readonly fix: string
}

/** Makes a diagnostic from a finding about a file or folder. */
export function toFinding(
  displayPath: (path: string) => string,
  { code, severity, path, reason, fix }: Finding,
): Diagnostic {
  const name = path.slice(path.lastIndexOf('/') + 1) || '.'
  return { code, severity, message: `${quote(name)} ${reason}`, path: displayPath(path), fix }
}

/**
 * Whether a `.skillignore` above the entry excludes it. A `.skillignore` cannot exclude itself, because its rules decide
 * which files the skill has and so must be part of the revision.
 */
function isIgnored(node: DirectoryNode, entry: DirectoryEntry): boolean {
  if (entry.name === IGNORE_FILE_NAME) return false
  for (let at: DirectoryNode | undefined = node; at !== undefined; at = at.parent) {
    if (at.ignored === undefined) continue
    const within = pathWithin(at, node)
    if (at.ignored.rules(within === '' ? entry.name : `${within}/${entry.name}`, entry.kind === 'directory'))
      return true
  }
  return false
}

function childPath(node: DirectoryNode, name: string): string {
  return node.path === '' ? name : `${node.path}/${name}`
}
