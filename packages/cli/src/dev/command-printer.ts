import type { SkillRuntime } from '@skillstoke/core'
import { shortDigest } from '@skillstoke/core/internal'
import { paint, shorten, toTerminalLine, toTerminalOutput } from '../terminal/output.ts'

/**
 * Prints each call of a command, and each command that was added, changed or removed. Returns a function that stops
 * printing.
 */
export function printCommands(skills: SkillRuntime, print: (line: string) => void): () => void {
  const dim = (text: string): void => print(paint('dim', `  ${text}`))
  const { events } = skills
  const stops = [
    events.on('commands:changed', ({ skill, revision, added, removed, modified }) => {
      const names = (sign: string, list: readonly { readonly name: string }[]): string[] =>
        list.map(({ name }) => `${sign}${name}`)
      const changes = [...names('+', added), ...names('-', removed), ...names('~', modified)].join(' ')
      const at = revision === undefined ? '' : ` at ${shortDigest(revision)}`
      print(
        `${paint('green', 'COMMANDS')} ${paint('bold', toTerminalLine(skill))} ${toTerminalLine(changes)}${at}`,
      )
    }),
    events.on('command:started', ({ call, target, skill, revision }) => {
      const at = revision === undefined ? '' : ` at ${shortDigest(revision)}`
      const shown = target.startsWith(`${skill}.`) ? target : `${skill} ${target}`
      print(`${paint('cyan', `call ${call}`)} ${toTerminalLine(shown)}${at}`)
    }),
    events.on('command:progress', ({ call, done, total, message = '' }) => {
      const part = total === undefined || total <= 0 ? String(done) : `${Math.round((done / total) * 100)}%`
      dim(`call ${call}: ${part} ${shorten(message, 100)}`.trimEnd())
    }),
    events.on('command:line', ({ call, stream, text }) =>
      dim(`call ${call} ${stream}: ${shorten(toTerminalOutput(text), 200)}`),
    ),
    events.on('command:finished', ({ call, isError, durationMs }) => {
      const end = isError ? paint('red', 'failed') : 'done'
      dim(`call ${call}: ${end} in ${Math.round(durationMs)} ms`)
    }),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}
