import type { Skill, SkillChange } from '@skillstoke/core'
import { isUserInvocable } from '@skillstoke/core/internal'
import { looksSame } from './skill-face.ts'
import { isSamePrompt } from './skill-prompts.ts'
import { toFileUri, toSkillUri } from './skill-uri.ts'

/** The lists whose changes clients are notified of, by their notifications. */
export const LISTS = ['resources/list_changed', 'prompts/list_changed', 'tools/list_changed'] as const

/**
 * What changed for clients: members of `LISTS`, and the URIs of files and folders. A folder counts as changed if any file
 * inside it changed.
 */
export type ChangeSet = ReadonlySet<string>

/** Returns what changes mean for the clients with one scope. */
export function toChangeSet(all: readonly SkillChange[], isInScope: (name: string) => boolean): ChangeSet {
  const changes = all.filter(change => isInScope(change.name))
  return new Set([
    ...(changes.some(isListed) ? ['resources/list_changed'] : []),
    ...(changes.some(isPromptChanged) ? ['prompts/list_changed'] : []),
    ...changes.flatMap(change => [...changedUris(change)]),
  ])
}

function isListed(change: SkillChange): boolean {
  return change.kind !== 'modified' || !looksSame(change.oldSkill, change.newSkill)
}

function isPromptChanged(change: SkillChange): boolean {
  return change.kind === 'modified'
    ? !isSamePrompt(change.oldSkill, change.newSkill)
    : isUserInvocable(change.skill)
}

/** Returns the skill before and after a change. */
export function sidesOf(change: SkillChange): { readonly before?: Skill; readonly after?: Skill } {
  if (change.kind === 'modified') return { before: change.oldSkill, after: change.newSkill }
  return change.kind === 'added' ? { after: change.skill } : { before: change.skill }
}

function changedUris(change: SkillChange): Set<string> {
  const { before, after } = sidesOf(change)
  const uris = new Set<string>()
  const paths = new Set([...(before?.files ?? []), ...(after?.files ?? [])].map(file => file.path))
  for (const path of paths) {
    if (digestOf(before, path) === digestOf(after, path)) continue
    uris.add(toFileUri((after ?? before) as Skill, path))
    const folders = path.split('/').slice(0, -1)
    for (let depth = folders.length; depth >= 0; depth--)
      uris.add(toSkillUri(change.name, folders.slice(0, depth).join('/')))
  }
  return uris
}

function digestOf(skill: Skill | undefined, path: string): string | undefined {
  return skill?.files.find(file => file.path === path)?.digest
}
