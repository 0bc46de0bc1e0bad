import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { aiSdk } from '@skillstoke/adapters/ai-sdk'
import { createOfflineModel } from '@skillstoke/agent'
import { generateText, type ModelMessage, stepCountIs } from 'ai'
import type { ReceivedSpan } from '../tests/fixtures/otlp-receiver.ts'
import { openTracedSkills } from '../tests/fixtures/traced-skills.ts'
import { escapeText } from './recording.ts'

// Draws the spans of a turn that ran with the AI SDK after a skill was edited, as a receiver got them over OTLP.

const QUESTION = 'A customer wants a refund for order 1042. What applies?'
const REFUND = resolve(import.meta.dirname, '../demo/skills/refund/SKILL.md')

export async function drawTrace(): Promise<string> {
  const [, , body = ''] = readFileSync(REFUND, 'utf8').split(/^---$/m)
  await using traced = await openTracedSkills()
  const write = (days: number): void =>
    traced.source.put({
      ...{ name: 'refund', description: 'Use for refunds.' },
      body: body.trim().replace('30 days', `${days} days`),
    })
  write(30)
  using chat = aiSdk<ModelMessage>(traced.skills, { id: 'chat-1' })
  const ask = async (): Promise<void> =>
    await traced.inSpan('turn', { question: QUESTION }, async () => {
      const call = await chat.turn(QUESTION)
      const telemetry = { integrations: [traced.integration] }
      const settings = { model: createOfflineModel(), stopWhen: stepCountIs(20), telemetry }
      await chat.keep(await generateText({ ...call, ...settings }))
    })
  await ask()
  write(14)
  await ask()
  const spans = await traced.received()
  // The span of the turn ends after the spans in it.
  const [, second] = spans.filter(({ name }) => name === 'turn')
  const steps = spans.filter(({ traceId, name }) => traceId === second?.traceId && name !== 'turn')
  return draw([second, ...steps].flatMap(span => (span === undefined ? [] : describe(span))))
}

interface Row {
  readonly title: string
  readonly lines: readonly string[]
  readonly color: string
}

/** Returns the rows of a span; none for the spans that only group others. */
function describe({ name, attributes }: ReceivedSpan): readonly Row[] {
  const text = (key: string): string => String(attributes[key])
  if (name === 'turn') return [{ title: 'turn', lines: [`“${text('question')}”`], color: '#8b949e' }]
  if (name.startsWith('execute_tool')) {
    const revision = shorten(text('skillstoke.revision'))
    return [{ title: name, lines: [`skill ${text('skillstoke.skill')} ${revision}`], color: '#7ee787' }]
  }
  if (!name.startsWith('chat ')) return []
  const skills = (attributes['skillstoke.skills'] as readonly string[]).map(each => each.replace('@', ' '))
  const tokens = Number(attributes['skillstoke.notice.tokens'])
  const notice = `told in ${tokens} tokens: ${text('skillstoke.notice.skills')} changed`
  const prefix = attributes['skillstoke.prefix.kept'] === true ? 'prefix kept' : 'prefix lost'
  const call: Row = {
    title: name,
    lines: [
      `generation ${text('skillstoke.generation')}, ${prefix}`,
      ...(tokens > 0 ? [notice] : []),
      `has ${skills.map(shorten).join(', ')}`,
    ],
    color: '#79c0ff',
  }
  const answer = findAnswer(text('gen_ai.output.messages'))
  return answer === '' ? [call] : [call, { title: 'answer', lines: [`“${answer}”`], color: '#8b949e' }]
}

/** Writes the first eight digits of the digests in a text. */
function shorten(text: string): string {
  return text.replace(/sha256:([0-9a-f]{8})[0-9a-f]*/g, '$1')
}

function findAnswer(messages: string): string {
  const all = JSON.parse(messages) as readonly {
    readonly parts: readonly { readonly type: string; readonly content?: string }[]
  }[]
  return all
    .flatMap(({ parts }) => parts.flatMap(part => (part.type === 'text' ? part.content : [])))
    .join('')
}

const WIDTH = 920
const TEXT_LEFT = 210
const COLUMNS = 86
const LINE = 20
const GAP = 16

/** Splits a text at spaces. */
function wrap(text: string): readonly string[] {
  if (text.length <= COLUMNS) return [text]
  const at = text.lastIndexOf(' ', COLUMNS)
  return [text.slice(0, at), ...wrap(text.slice(at + 1))]
}

function draw(rows: readonly Row[]): string {
  const parts: string[] = []
  let y = 34
  for (const { title, lines: texts, color } of rows) {
    const lines = texts.flatMap(wrap)
    const isLast = y > 34 && title === 'answer'
    const height = lines.length * LINE + GAP
    if (!isLast) parts.push(`<path d="M34 ${y}v${height}" stroke="#30363d" stroke-width="2"/>`)
    parts.push(
      `<circle cx="34" cy="${y}" r="6" fill="${color}"/>`,
      `<text x="56" y="${y + 5}" fill="${color}">${escapeText(title)}</text>`,
      ...lines.map(
        (line, index) =>
          `<text x="${TEXT_LEFT}" y="${y + 5 + index * LINE}" fill="#c9d1d9">${escapeText(line)}</text>`,
      ),
    )
    y += height
  }
  const height = y - GAP + 6
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="The spans of a turn: a question, a model call with a notice, the skill tool, a second model call with the new revision, and the answer" font-family="ui-monospace, monospace" font-size="13">`,
    `<rect width="${WIDTH}" height="${height}" rx="10" fill="#0d1117"/>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n')
}
