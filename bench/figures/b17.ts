import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { type AiSdkChat, aiSdk } from '@skillstoke/adapters/ai-sdk'
import {
  type CatalogFormatName,
  createSkillRuntime,
  type DeliveryMode,
  renderCatalog,
  type SkillRuntime,
} from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'
import { generateText, jsonSchema, type ModelMessage, stepCountIs, type ToolSet, tool } from 'ai'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { type Figure, round } from '../figure.ts'
import { nameOf, Tree, textOf } from '../tree.ts'

const TURNS = 200
const EDITS = 40
const SKILLS = 40

// The published rules of two providers. Prices are relative to an input token that is not cached.
const READ_PRICE = 0.1
const WRITE_PRICE = 1.25
const OPENAI_MINIMUM = 1_024
const OPENAI_STEP = 128

/** How a conversation learns of changed skills. `repeat` appends the whole catalog to every message of the user. */
type Mode = DeliveryMode | 'repeat'

interface Outcome {
  readonly calls: number
  readonly keptCalls: number
  readonly keptShare: number
  readonly notices: number
  readonly noticeTokens: number
  readonly inputTokens: number
  readonly openai: { readonly cachedShare: number; readonly cost: number }
  readonly anthropic: { readonly cachedShare: number; readonly cost: number }
}

/** Measures prefix, tokens and cost of one conversation of 200 turns, during which 40 edits of skills happen. */
export async function* b17(): AsyncGenerator<Figure> {
  const outcomes: Partial<Record<Mode, Outcome>> = {}
  yield await measureCatalog()
  for (const mode of ['append', 'rebuild', 'silent', 'pinned', 'repeat'] as const)
    outcomes[mode] = await converse(mode)
  const { append, ...others } = outcomes
  const toFigure = (
    what: string,
    unit: Figure['unit'],
    target: string,
    read: (outcome: Outcome) => number,
  ): Figure => ({
    id: 'B17',
    ...{ what, n: SKILLS, unit, target },
    value: both(append === undefined ? Number.NaN : read(append)),
    peers: Object.fromEntries(Object.entries(others).map(([mode, outcome]) => [mode, round(read(outcome))])),
  })
  yield toFigure('tokens that are kept from the previous request', '%', '100', each => each.keptShare * 100)
  yield toFigure('calls that keep the whole previous request', 'count', 'all of 241', each => each.keptCalls)
  yield toFigure('notices', 'count', 'at most 40', each => each.notices)
  yield toFigure('tokens of a notice', 'count', 'at most 60', each =>
    each.notices === 0 ? 0 : each.noticeTokens / each.notices,
  )
  yield toFigure('input tokens, in thousands', 'count', 'stated', each => each.inputTokens / 1_000)
  yield toFigure('cached share by the rule of OpenAI', '%', 'stated', each => each.openai.cachedShare * 100)
  yield toFigure(
    'cost by the rule of OpenAI, in thousand uncached tokens',
    'count',
    'stated',
    each => each.openai.cost / 1_000,
  )
  yield toFigure(
    'cached share by the rule of Anthropic',
    '%',
    'stated',
    each => each.anthropic.cachedShare * 100,
  )
  yield toFigure(
    'cost by the rule of Anthropic, in thousand uncached tokens',
    'count',
    'stated',
    each => each.anthropic.cost / 1_000,
  )
}

/** Measures the tokens of the catalog, which every request contains. */
async function measureCatalog(): Promise<Figure> {
  using tree = await Tree.make(SKILLS)
  await using skills = await createSkillRuntime({ sources: [directory(tree.path)] })
  const tokensOf = (format: CatalogFormatName): number =>
    renderCatalog(skills.current.list(), { format, countTokens, maxTokens: 100_000 }).tokens
  return {
    ...{ id: 'B17', what: 'tokens of the catalog', n: SKILLS, unit: 'count', target: 'stated' },
    value: both(tokensOf('agentskills-tool-xml')),
    peers: { 'with locations': tokensOf('agentskills-xml'), 'one line a skill': tokensOf('markdown') },
  }
}

function both(value: number): Figure['value'] {
  return { p50: round(value), p99: round(value) }
}

async function converse(mode: Mode): Promise<Outcome> {
  using tree = await Tree.make(SKILLS)
  await using skills = await createSkillRuntime({ sources: [directory(tree.path)] })
  const model = new RecordingModel()
  let edits = 0
  const edit = tool({
    inputSchema: jsonSchema({ type: 'object', properties: {} }),
    execute: async () => {
      change(tree, edits++)
      await skills.fresh()
      return 'Edited.'
    },
  })
  const delivery = mode === 'repeat' ? 'silent' : mode
  using chat = aiSdk<ModelMessage>(skills, {
    id: mode,
    instructions: 'You are a helpful assistant.',
    delivery,
  })
  const tools = { edit }
  await load(chat, model, tools)
  for (let turn = 1; turn <= TURNS; turn++) {
    const isEdit = turn % (TURNS / EDITS) === 0
    model.play(isEdit ? { tool: 'edit', input: {} } : undefined)
    await ask(chat, model, mode, skills, turn, tools)
  }
  return judge(model.requests)
}

async function load(chat: AiSdkChat<ModelMessage>, model: RecordingModel, tools: ToolSet): Promise<void> {
  model.play({ tool: 'skill', input: { name: nameOf(0) } })
  const call = await chat.turn('Load the first skill.', { tools })
  await chat.keep(await generateText({ model, ...call, stopWhen: stepCountIs(3) }))
}

async function ask(
  chat: AiSdkChat<ModelMessage>,
  model: RecordingModel,
  mode: Mode,
  skills: SkillRuntime,
  turn: number,
  tools: ToolSet,
): Promise<void> {
  const question = `Question ${turn}: ${'Please explain the next point in detail. '.repeat(4)}`
  const catalog = mode === 'repeat' ? `\n\n${skills.forConversation({}).catalog().text}` : ''
  const call = await chat.turn(question + catalog, { tools })
  await chat.keep(await generateText({ model, ...call, stopWhen: stepCountIs(3) }))
}

/** Makes one of five kinds of changes: body, description, added skill, removed skill, script. */
function change(tree: Tree, edit: number): void {
  const round = Math.floor(edit / 5)
  const name = nameOf(round % SKILLS)
  const write = (folder: string, text: string): void => {
    mkdirSync(join(tree.path, folder), { recursive: true })
    writeFileSync(join(tree.path, folder, 'SKILL.md'), text)
  }
  switch (edit % 5) {
    case 0:
      tree.save(0, `edit ${edit}`)
      break
    case 1:
      write(
        nameOf(10 + round),
        textOf(10 + round, `edit ${edit}`).replace(/^description: .*$/m, `description: Does thing ${edit}.`),
      )
      break
    case 2:
      write(
        `added-${edit}`,
        `---\nname: added-${edit}\ndescription: Does the added thing ${edit}.\n---\nDo it.\n`,
      )
      break
    case 3:
      rmSync(join(tree.path, nameOf(30 + round)), { recursive: true, force: true })
      break
    default:
      writeFileSync(join(tree.path, name, 'scripts/main.ts'), `export const index = ${edit}\n`)
  }
}

/** Applies the rules of the providers to the recorded requests. */
function judge(requests: readonly (readonly string[])[]): Outcome {
  const sizes = new Map<string, number>()
  const sizeOf = (part: string): number => {
    const size = sizes.get(part) ?? countTokens(part)
    sizes.set(part, size)
    return size
  }
  const sum = (parts: readonly string[]): number => parts.reduce((total, part) => total + sizeOf(part), 0)
  let [before, keptCalls, kept, previous]: [readonly string[], number, number, number] = [[], 0, 0, 0]
  let [input, openaiCached, anthropicRead, anthropicWritten] = [0, 0, 0, 0]
  for (const request of requests) {
    const first = request.findIndex((part, place) => part !== before[place])
    const common = sum(request.slice(0, first === -1 ? request.length : first))
    const total = sum(request)
    if (before.length > 0) {
      previous += sum(before)
      kept += common
      if (common === sum(before)) keptCalls++
      openaiCached += common < OPENAI_MINIMUM ? 0 : common - (common % OPENAI_STEP)
      anthropicRead += common
    }
    anthropicWritten += total - (before.length > 0 ? common : 0)
    input += total
    before = request
  }
  const notices = requests.at(-1)?.filter(part => part.includes('<skills_update')) ?? []
  return {
    calls: requests.length,
    ...{ keptCalls, keptShare: kept / previous, notices: notices.length, noticeTokens: sum(notices) },
    inputTokens: input,
    openai: {
      cachedShare: openaiCached / input,
      cost: input - openaiCached + openaiCached * READ_PRICE,
    },
    anthropic: {
      cachedShare: anthropicRead / input,
      cost: anthropicRead * READ_PRICE + anthropicWritten * WRITE_PRICE,
    },
  }
}

type Call = { readonly tool: string; readonly input: unknown }

/** A model that keeps the parts of every request in the order in which providers cache them. */
class RecordingModel implements LanguageModelV4 {
  readonly specificationVersion = 'v4'
  readonly provider = 'bench'
  readonly modelId = 'recording'
  readonly supportedUrls = {}
  readonly requests: string[][] = []
  #call: Call | undefined

  /** Sets the tool call of the next answer. Later answers are texts. */
  play(call: Call | undefined): void {
    this.#call = call
  }

  async doGenerate({
    tools,
    prompt,
  }: LanguageModelV4CallOptions): Promise<Awaited<ReturnType<LanguageModelV4['doGenerate']>>> {
    this.requests.push([JSON.stringify(tools ?? []), ...prompt.map(message => JSON.stringify(message))])
    const call = this.#call
    this.#call = undefined
    const number = this.requests.length
    const usage = {
      inputTokens: { total: 1, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: 1, text: undefined, reasoning: undefined },
    }
    const text = `Answer ${number}. ${'This is the explanation of the point. '.repeat(3)}`
    return {
      content: [
        call === undefined
          ? { type: 'text', text }
          : {
              type: 'tool-call',
              toolCallId: `call-${number}`,
              toolName: call.tool,
              input: JSON.stringify(call.input),
            },
      ],
      finishReason: { unified: call === undefined ? 'stop' : 'tool-calls', raw: undefined },
      usage,
      warnings: [],
    }
  }

  doStream(): never {
    throw new Error('the benchmark does not stream')
  }
}
