import type { RegistryUpdate, Skill, SkillChange } from '@skillstoke/core'
import { isUserInvocable } from '@skillstoke/core/internal'
import type { Clock } from '@skillstoke/core/source'
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

export interface ChangeNotificationsOptions {
  readonly clock: Clock
  /** Minimum time between two notifications, in milliseconds. */
  readonly intervalMs: number
  readonly isInScope: (name: string) => boolean
  readonly send: (changes: ChangeSet) => void
}

/**
 * Combines updates into few notifications. The first update is sent immediately. Each notification starts an interval.
 * All updates during the interval are sent in one notification at the end of the interval, so the last change of a
 * burst is always sent.
 */
export class ChangeNotifications {
  readonly #options: ChangeNotificationsOptions
  #held: ChangeSet | undefined
  #cancelTimer: (() => void) | undefined

  constructor(options: ChangeNotificationsOptions) {
    this.#options = options
  }

  add(update: RegistryUpdate): void {
    const changes = toChangeSet(update.changes, this.#options.isInScope)
    if (changes.size > 0) this.#tell(changes)
  }

  /** Records that the list of tools changed. */
  addToolChange(): void {
    this.#tell(new Set(['tools/list_changed']))
  }

  #tell(changes: ChangeSet): void {
    if (this.#cancelTimer === undefined) this.#send(changes)
    else this.#held = this.#held?.union(changes) ?? changes
  }

  close(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#held = undefined
  }

  #send(changes: ChangeSet): void {
    const { clock, intervalMs, send } = this.#options
    this.#cancelTimer = clock.after(intervalMs, () => this.#onInterval(), { background: true })
    send(changes)
  }

  #onInterval(): void {
    this.#cancelTimer = undefined
    const held = this.#held
    this.#held = undefined
    if (held !== undefined) this.#send(held)
  }
}

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

function changedUris(change: SkillChange): Set<string> {
  const before =
    change.kind === 'added' ? undefined : change.kind === 'removed' ? change.skill : change.oldSkill
  const after =
    change.kind === 'removed' ? undefined : change.kind === 'added' ? change.skill : change.newSkill
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
