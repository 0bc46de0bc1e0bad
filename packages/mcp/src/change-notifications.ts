import type { RegistryUpdate, Skill, SkillChange } from '@skillstoke/core'
import { isUserInvocable } from '@skillstoke/core/internal'
import type { Clock } from '@skillstoke/core/source'
import { looksSame } from './skill-face.ts'
import { isSamePrompt } from './skill-prompts.ts'
import { toFileUri, toSkillUri } from './skill-uri.ts'

/** A notification that summarises one or more updates for clients. */
export interface ChangeNotification {
  /** Whether the list of resources changed, because a skill was added or removed or has a new description. */
  readonly isListChanged: boolean
  /** Changed files and folders. A folder counts as changed if any file inside it changed. */
  readonly uris: ReadonlySet<string>
  /** Whether the list of prompts changed. */
  readonly arePromptsChanged: boolean
  /** Whether a tool was added, was removed or has a new description. */
  readonly areToolsChanged: boolean
}

export interface ChangeNotificationsOptions {
  readonly clock: Clock
  /** Minimum time between two notifications, in milliseconds. */
  readonly intervalMs: number
  readonly isInScope: (name: string) => boolean
  readonly send: (notification: ChangeNotification) => void
}

/**
 * Combines updates into few notifications. The first update is sent immediately. Each notification starts an interval.
 * All updates during the interval are sent in one notification at the end of the interval, so the last change of a
 * burst is always sent.
 */
export class ChangeNotifications {
  readonly #options: ChangeNotificationsOptions
  #held: ChangeNotification | undefined
  #cancelTimer: (() => void) | undefined

  constructor(options: ChangeNotificationsOptions) {
    this.#options = options
  }

  add(update: RegistryUpdate): void {
    const notification = toNotification(update.changes, this.#options.isInScope)
    const { isListChanged, arePromptsChanged, uris } = notification
    if (isListChanged || arePromptsChanged || uris.size > 0) this.#tell(notification)
  }

  /** Records that the list of tools changed. */
  addToolChange(): void {
    this.#tell({ isListChanged: false, arePromptsChanged: false, uris: new Set(), areToolsChanged: true })
  }

  #tell(notification: ChangeNotification): void {
    if (this.#cancelTimer === undefined) this.#send(notification)
    else this.#held = this.#held === undefined ? notification : mergeNotifications(this.#held, notification)
  }

  close(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#held = undefined
  }

  #send(notification: ChangeNotification): void {
    const { clock, intervalMs, send } = this.#options
    this.#cancelTimer = clock.after(intervalMs, () => this.#onInterval(), { background: true })
    send(notification)
  }

  #onInterval(): void {
    this.#cancelTimer = undefined
    const held = this.#held
    this.#held = undefined
    if (held !== undefined) this.#send(held)
  }
}

/** Returns one notification of the changes of two. */
export function mergeNotifications(
  first: ChangeNotification,
  second: ChangeNotification,
): ChangeNotification {
  return {
    isListChanged: first.isListChanged || second.isListChanged,
    arePromptsChanged: first.arePromptsChanged || second.arePromptsChanged,
    uris: first.uris.union(second.uris),
    areToolsChanged: first.areToolsChanged || second.areToolsChanged,
  }
}

/** Returns the notification about changes for the clients with one scope. */
export function toNotification(
  all: readonly SkillChange[],
  isInScope: (name: string) => boolean,
): ChangeNotification {
  const changes = all.filter(change => isInScope(change.name))
  return {
    isListChanged: changes.some(isListed),
    arePromptsChanged: changes.some(isPromptChanged),
    uris: new Set(changes.flatMap(change => [...changedUris(change)])),
    areToolsChanged: false,
  }
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
