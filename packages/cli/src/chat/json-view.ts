import type { AgentEvent, PendingCall } from '@skillstoke/agent'
import type { Generation, RegistryUpdate, SkillExplanation } from '@skillstoke/core'
import { toGenerationId, toRow } from '@skillstoke/core/internal'
import type { ListeningSession } from '../dev/dev-printer.ts'
import { toProblem, toTimelineChange } from '../server/timeline.ts'
import { printJsonLine } from '../terminal/output.ts'
import { CHAT_COMMANDS } from './chat-commands.ts'
import type { ChatView, OpenedChat, TurnOutcome } from './chat-view.ts'
import type { ShownSkill } from './shown-skill.ts'

/** Prints each event of a chat as one line of JSON, which has a field `kind`. */
export class JsonView implements ChatView {
  opened({ generation, ...chat }: OpenedChat): void {
    printJsonLine({ kind: 'opened', ...chat, generation: toGenerationId(generation) })
  }

  updated({ generation, changes, reports }: RegistryUpdate, { pending, prefix }: ListeningSession): void {
    printJsonLine({
      kind: 'skills-changed',
      generation: toGenerationId(generation),
      changes: changes.map(toTimelineChange),
      problems: reports.filter(({ status }) => status !== 'ok').map(toProblem),
      notice: pending === undefined ? null : { text: pending.text, tokens: pending.tokens },
      prefix: prefix ?? null,
    })
  }

  happened(event: AgentEvent): void {
    if (event.kind !== 'skills-updated') printJsonLine(event)
    else {
      // The offer of a session also has methods.
      const { text, tokens, generation, digest } = event.update
      printJsonLine({ kind: event.kind, update: { text, tokens, generation, digest } })
    }
  }

  stopped(outcome: Exclude<TurnOutcome, 'answered' | 'waiting'>, reason: string): void {
    printJsonLine({ kind: 'stopped', outcome, reason })
  }

  waiting(call: PendingCall, isAsked: boolean): void {
    printJsonLine({ kind: 'waiting', call, isAsked })
  }

  listed(skills: readonly ShownSkill[], generation: Generation): void {
    printJsonLine({
      kind: 'skills',
      generation: toGenerationId(generation),
      skills: skills.map(({ report, here = null, loaded = null, isInvocable }) => ({
        ...toRow(report),
        here,
        loaded,
        isInvocable,
      })),
    })
  }

  explained(explanation: SkillExplanation): void {
    printJsonLine({ kind: 'why', ...explanation })
  }

  asked(questions: readonly string[]): void {
    printJsonLine({ kind: 'questions', questions })
  }

  branched(id: string): void {
    printJsonLine({ kind: 'branched', id })
  }

  reloaded(before: Generation, after: Generation): void {
    printJsonLine({ kind: 'reloaded', previous: toGenerationId(before), generation: toGenerationId(after) })
  }

  helped(skills: readonly ShownSkill[]): void {
    const invocable = skills.filter(({ isInvocable }) => isInvocable)
    printJsonLine({
      kind: 'help',
      commands: Object.entries(CHAT_COMMANDS).map(([name, help]) => ({ name, ...help })),
      skills: invocable.map(({ report }) => ({ name: report.name, description: report.description })),
    })
  }

  noted(text: string): void {
    printJsonLine({ kind: 'note', text })
  }
}
