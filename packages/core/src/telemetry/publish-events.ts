import { type Channel, channel } from 'node:diagnostics_channel'
import type { SkillEvents, SkillRuntime } from '../index.ts'

/** The events that `publishEvents` publishes. Lines that scripts write are left out, because they may be secret. */
export type PublishedEvent = Exclude<keyof SkillEvents, 'command:line' | 'command:progress'>

const PUBLISHED: Readonly<Record<PublishedEvent, true>> = {
  'skill:added': true,
  'skill:modified': true,
  'skill:removed': true,
  'skill:shadowed': true,
  'skill:error': true,
  'skill:pending': true,
  'skill:used': true,
  'skill:missed': true,
  'skills:offered': true,
  'skill:decided': true,
  'skills:batch': true,
  'skills:reloaded': true,
  'commands:changed': true,
  'command:started': true,
  'command:finished': true,
}

/** Returns the name of the diagnostics channel of an event. */
export function channelOf(event: PublishedEvent): string {
  return `skillstoke:${event}`
}

/**
 * Publishes the events of a runtime on diagnostics channels named `skillstoke:` and the event, for example
 * `skillstoke:skill:used`. Returns a function that stops. Costs nothing while no program subscribes to a channel.
 *
 * @example
 * ```ts
 * import { subscribe } from 'node:diagnostics_channel'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory, publishEvents } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * const stop = publishEvents(skills)
 * subscribe('skillstoke:skill:used', message => console.log((message as { skill: string }).skill))
 * await skills.session({ id: 'chat-1' }).tools[0]?.execute({ name: 'support-pdf' }) // prints support-pdf
 * stop()
 * ```
 */
export function publishEvents(skills: SkillRuntime): () => void {
  const stops = (Object.keys(PUBLISHED) as PublishedEvent[]).map(event => {
    const target: Channel = channel(channelOf(event))
    return skills.events.on(event, (payload: SkillEvents[typeof event]) => {
      if (target.hasSubscribers) target.publish(payload)
    })
  })
  return () => {
    for (const stop of stops) stop()
  }
}
