import { quote } from '../quote.ts'
import type { Diagnostic } from './diagnostic.ts'
import { findRepository, isRepositoryEntry } from './git-layout.ts'
import { findLeftOutIn, isPrivateKey, type LeftOutKind } from './left-out-names.ts'
import type { Skill } from './skill.ts'

/** A finding about a file or folder, without its path. */
export interface EntryFinding extends Pick<Diagnostic, 'code' | 'severity'> {
  /** The second half of a sentence that begins with the name of the entry. */
  readonly reason: string
  readonly fix: string
}

/** What happens with an entry that a name or content shows to be no part of a skill. */
interface LeftOutVerdict {
  /** True for a secret that a setting includes in the skill. */
  readonly isKept: boolean
  readonly finding: EntryFinding | undefined
}

/** Decides whether an entry of a kind is left out, and which finding reports the entry. */
export function judgeLeftOut(name: string, kind: LeftOutKind, includesSecrets: boolean): LeftOutVerdict {
  const isKept = kind === 'secret' && includesSecrets
  return { isKept, finding: isKept ? INCLUDED_SECRET : describeLeftOut(name, kind) }
}

/** Describes an entry that is left out. Leftovers are left out silently. */
function describeLeftOut(name: string, kind: LeftOutKind): EntryFinding | undefined {
  switch (kind) {
    case 'leftover':
      return undefined
    case 'git':
      return describeGit(name)
    case 'dependencies':
      return {
        code: 'DEPENDENCY_FOLDER',
        severity: 'warning',
        reason: 'contains installed packages, which differ between machines, so it is no part of the skill',
        fix: /^\.?venv$/i.test(name)
          ? 'copy the modules that the scripts need into the skill; to end this message, list the folder in .skillignore'
          : 'bundle each script with its packages into one file, for example with "npx esbuild --bundle"; to end this message, list the folder in .skillignore',
      }
    case 'secret':
      return LEFT_OUT_SECRET
    default:
      return kind satisfies never
  }
}

function describeGit(name: string): EntryFinding {
  if (name === '.git')
    return {
      code: 'FILE_SKIPPED',
      severity: 'info',
      reason: 'is data of git, so it is no part of the skill',
      fix: 'to end this message, list it in .skillignore',
    }
  return {
    code: 'FILE_SKIPPED',
    severity: 'warning',
    reason:
      'is ".git" on some disks, where git would run programs that it names, so it is no part of the skill',
    fix: 'remove it',
  }
}

/** Describes a folder whose entries are left out because git would treat the folder as a repository. */
export const REPOSITORY_FINDING: EntryFinding = {
  code: 'FILE_SKIPPED',
  severity: 'warning',
  reason:
    'has the layout of a git repository, and git would run programs that its config names, so its git data is no part of the skill',
  fix: 'move the repository out of the skill',
}

export const LEFT_OUT_SECRET: EntryFinding = {
  code: 'SECRET_FILE',
  severity: 'warning',
  reason: 'usually holds a secret, so it is no part of the skill',
  fix: 'keep it outside of the folder, or list it in .skillignore; include secret files (--include-secrets) only if every reader of the skill may see them',
}

/** Describes a secret that a setting includes in the skill. */
export const INCLUDED_SECRET: EntryFinding = {
  code: 'SECRET_FILE',
  severity: 'warning',
  reason: 'usually holds a secret and is part of the skill, so the skill cannot be published',
  fix: 'keep it outside of the folder, or list it in .skillignore, before you publish the skill',
}

/** Adds the path of an entry to a finding. `shownPath` is the path that people read. */
export function toDiagnostic(
  { code, severity, reason, fix }: EntryFinding,
  path: string,
  shownPath: string = path,
): Diagnostic {
  return { code, severity, message: `${quote(nameIn(path))} ${reason}`, path: shownPath, fix }
}

function nameIn(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1) || '.'
}

/** Finds a file of a skill that `secretFiles: 'include'` made part of the skill. Returns its path. */
export function findIncludedSecret({
  files,
  diagnostics,
}: Pick<Skill, 'files' | 'diagnostics'>): string | undefined {
  const secrets = diagnostics.flatMap(({ code, path }) => (code === 'SECRET_FILE' ? [`/${path}`] : []))
  // A finding names the file, or a folder above it.
  return files.find(({ path }) =>
    pathsAbove(path).some(above => secrets.some(secret => secret.endsWith(`/${above}`))),
  )?.path
}

/** Returns a path and the paths of all folders above it. */
export function pathsAbove(path: string): readonly string[] {
  const segments = path.split('/')
  return segments.map((_, index) => segments.slice(0, index + 1).join('/'))
}

/**
 * Removes the files that are no part of a skill from a list of files, and reports them as a source of folders does. Use this
 * function for lists that come from no folder.
 * @param bytesOf returns the bytes of a file, or `undefined` if they are unknown
 */
export function leaveOutFiles<File extends { readonly path: string }>(
  files: readonly File[],
  includesSecrets: boolean,
  bytesOf: (file: File) => Uint8Array | undefined,
  found: Diagnostic[],
): File[] {
  const told = new Map<string, Diagnostic>()
  const tell = (finding: EntryFinding | undefined, path: string): void => {
    if (finding !== undefined) told.set(path, toDiagnostic(finding, path))
  }
  const named = files.filter(file => {
    const { path } = file
    const leftOut = findLeftOutIn(path)
    const bytes = leftOut === undefined ? bytesOf(file) : undefined
    if (leftOut === undefined && (bytes === undefined || !isPrivateKey(path, bytes))) return true
    const { kind, entry } = leftOut ?? ({ kind: 'secret', entry: path } as const)
    const { isKept, finding } = judgeLeftOut(nameIn(entry), kind, includesSecrets)
    tell(finding, entry)
    return isKept
  })
  const kept = leaveOutRepositories(named, folder => tell(REPOSITORY_FINDING, folder))
  found.push(...told.values())
  return kept
}

function leaveOutRepositories<File extends { readonly path: string }>(
  files: readonly File[],
  onFound: (folder: string) => void,
): File[] {
  let kept = [...files]
  for (;;) {
    const head = findRepository(kept.map(({ path }) => path))
    if (head === undefined) return kept
    const folder = head.slice(0, head.lastIndexOf('/') + 1)
    onFound(folder.slice(0, -1))
    kept = kept.filter(
      ({ path }) =>
        !path.startsWith(folder) || !isRepositoryEntry(path.slice(folder.length).split('/')[0] ?? ''),
    )
  }
}
