import { existsSync } from 'node:fs'
import { Conversation, openConversationStore } from '@skillstoke/agent'
import { shortDigest } from '@skillstoke/core/internal'
import { CHAT_TENANT, findConversationFile } from '../chat/stored-conversations.ts'
import type { Config } from '../config/config.ts'
import type { Answer } from '../terminal/answer.ts'
import { toCommandLine } from '../terminal/command-line.ts'
import { UsageError } from '../terminal/exit-code.ts'
import { formatTable, formatTime, paint, shorten, toTerminalLine } from '../terminal/output.ts'
import { findProgramName } from '../terminal/program-name.ts'

type TurnTrace = Awaited<ReturnType<typeof Conversation.trace>>
type TurnStep = TurnTrace['steps'][number]

const MAX_TEXT = 100

/** Implements `stoke trace`: shows which revisions the model had when it answered in a stored conversation. */
export async function trace(config: Config, _flags: object, id: string, turn?: number): Promise<Answer> {
  const file = findConversationFile(config)
  const unknown = new UsageError(
    `there is no conversation ${JSON.stringify(id)} in ${file}; "stoke chat --list" shows all ids`,
  )
  // Opening a store creates its file, and a look must not write.
  if (!existsSync(file)) throw unknown
  await using store = await openConversationStore(file)
  if ((await store.read(CHAT_TENANT, id, { limit: 1 })).length === 0) throw unknown
  const found = await Conversation.trace(store, CHAT_TENANT, id, turn)
  return { json: { conversation: id, ...found }, text: () => describe(found, id, config) }
}

function* describe(found: TurnTrace, id: string, config: Config): Generator<string> {
  const { turn, turns, question, at, steps } = found
  yield `${paint('bold', toTerminalLine(id))}, turn ${turn} of ${turns}, ${formatTime(at)}: ${shorten(question, MAX_TEXT)}`
  yield formatTable([['TIME (UTC)', 'STEP', 'GENERATION', 'SKILLS'], ...steps.flatMap(toRows)])
  const call = steps.findLast(step => step.kind === 'model-call')
  if (call === undefined) return
  yield `answer: ${shorten(call.text, MAX_TEXT)}`
  const skill = call.skills.at(-1)
  if (skill === undefined) return
  const words = ['show', skill.name, '--revision', shortDigest(skill.revision), ...config.options]
  yield paint('dim', `read what it had: ${findProgramName()} ${toCommandLine(words)}`)
}

/** Returns the rows of a step. The rows after the first one have only the last column. */
function toRows(step: TurnStep): readonly (readonly string[])[] {
  const { name, lines } = describeStep(step)
  const generation =
    step.kind === 'skill-use' || step.digest === undefined
      ? ''
      : `${step.generation} (${shortDigest(step.digest)})`
  const [first = '', ...more] = lines.map(toTerminalLine)
  const time = new Date(step.at).toISOString().slice(11, 19)
  return [[time, toTerminalLine(name), generation, first], ...more.map(line => ['', '', '', line])]
}

function describeStep(step: TurnStep): { readonly name: string; readonly lines: readonly string[] } {
  switch (step.kind) {
    case 'notice':
      return { name: 'notice', lines: step.text.split('\n').slice(1, -1) }
    case 'model-call':
      return {
        name: 'model call',
        lines: step.skills.map(({ name, revision, toldRevision: told }) => {
          const news = told === revision ? '' : `, was told: ${told ? shortDigest(told) : 'removed'}`
          return `${name} ${shortDigest(revision)}${news}`
        }),
      }
    case 'skill-use':
      return { name: `tool ${step.tool}`, lines: [`${step.skill} ${shortDigest(step.revision)}`] }
    default:
      return step satisfies never
  }
}
