import {
  type GetPromptResult,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server'
import type { Generation, Skill, SkillReader, SlashExpansion } from '@skillstoke/core'
import {
  describeBundle,
  escapeControls,
  freshOrKnown,
  isUserInvocable,
  quote,
  quoteAll,
  readArgumentHints,
  useNewest,
} from '@skillstoke/core/internal'
import { toPage } from './page.ts'
import { GENERATION_META_KEY, REVISION_META_KEY } from './skill-entry.ts'
import { iconsOf, looksSame, titleOf } from './skill-face.ts'

/** Puts the instructions of a skill into a message, for a session or for the runtime. */
export type InvokeSkill = (
  skill: Skill,
  values: Readonly<Record<string, string>>,
) => Promise<Required<SlashExpansion>>

/** Name of the only argument of a skill whose `argument-hint` names no arguments. */
const FREE_ARGUMENT = 'arguments'
/** The protocol allows at most 100 values in a completion. */
const MAX_COMPLETIONS = 100
const MAX_NAMED = 20
/** Maximum time that a list waits for writes to settle, in milliseconds. */
const MAX_LIST_WAIT_MS = 500

/** Offers the skills that a person may invoke as prompts. A client shows them as slash commands or in a menu. */
export class SkillPrompts {
  readonly #reader: SkillReader
  readonly #pageSize: number

  constructor(reader: SkillReader, options: { readonly pageSize: number }) {
    this.#reader = reader
    this.#pageSize = options.pageSize
  }

  async list(
    cursor: string | undefined,
  ): Promise<{ prompts: Prompt[]; nextCursor?: string; generation: Generation }> {
    const generation = await freshOrKnown(this.#reader, MAX_LIST_WAIT_MS)
    const skills = generation.list().filter(skill => this.#isOffered(skill))
    const { items, nextCursor } = toPage(skills, cursor, ({ name }) => name, this.#pageSize)
    const prompts = await Promise.all(items.map(skill => this.#toPrompt(skill)))
    return { prompts, ...(nextCursor === undefined ? {} : { nextCursor }), generation }
  }

  /**
   * Returns the instructions of a skill as a message; `undefined` if no prompt has this name.
   * @throws {ProtocolError} -32602 if a required argument is missing
   */
  async get(
    name: string,
    given: Readonly<Record<string, string>>,
    invoke: InvokeSkill,
  ): Promise<GetPromptResult | undefined> {
    const asked = { generation: await this.#reader.refresh(name), name }
    return await useNewest(this.#reader, asked, async generation => {
      const found = this.#find(name, generation)
      if (found === undefined) return undefined
      requireArguments(found, given)
      const { skill, text } = await invoke(found, toValues(found, given))
      const whole = [text, ...describeBundle(skill, this.#reader)].join('\n')
      return {
        description: skill.description,
        messages: [{ role: 'user', content: { type: 'text', text: `${whole}\n` } }],
        _meta: { [REVISION_META_KEY]: skill.revision, [GENERATION_META_KEY]: generation.digest },
      }
    })
  }

  /**
   * Completes the value of an argument with the choices that `argument-hint` lists, as in `[low|high]`. Returns
   * `undefined` if no prompt has this name.
   */
  complete(name: string, argument: string, typed: string): readonly string[] | undefined {
    const skill = this.#find(name)
    if (skill === undefined) return undefined
    const hint = readArgumentHints(skill.extra).find(each => each.name === argument)
    return (hint?.choices ?? []).filter(choice => choice.startsWith(typed))
  }

  #find(name: string, generation: Generation = this.#reader.current): Skill | undefined {
    const skill = generation.find(name)
    return skill?.name === name && this.#isOffered(skill) ? skill : undefined
  }

  #isOffered(skill: Skill): boolean {
    return isUserInvocable(skill) && this.#reader.isInScope(skill.name)
  }

  async #toPrompt(skill: Skill): Promise<Prompt> {
    const title = titleOf(skill)
    const icons = await iconsOf(skill, this.#reader)
    return {
      name: skill.name,
      ...(title === undefined ? {} : { title }),
      description: skill.description,
      arguments: toArguments(skill),
      ...(icons === undefined ? {} : { icons }),
      _meta: { [REVISION_META_KEY]: skill.revision },
    }
  }

  /** Returns the error for an unknown prompt. */
  describeUnknown(name: string): string {
    const offered = this.#reader.current.list().filter(skill => this.#isOffered(skill))
    const names = offered.slice(0, MAX_NAMED).map(skill => skill.name)
    const rest = offered.length - names.length
    const known = names.length === 0 ? 'there are none' : `the prompts are ${quoteAll(names)}`
    return `there is no prompt ${quote(name)}; ${known}${rest > 0 ? ` and ${rest} more` : ''}`
  }
}

/** Returns whether two revisions of a skill are listed as the same prompt. */
export function isSamePrompt(before: Skill, after: Skill): boolean {
  if (!(isUserInvocable(before) || isUserInvocable(after))) return true
  return (
    isUserInvocable(before) === isUserInvocable(after) &&
    looksSame(before, after) &&
    JSON.stringify(toArguments(before)) === JSON.stringify(toArguments(after))
  )
}

/** Returns a page of completions in the form of the protocol. */
export function toCompletion(values: readonly string[]): {
  completion: { values: string[]; total: number; hasMore: boolean }
} {
  return {
    completion: {
      values: values.slice(0, MAX_COMPLETIONS),
      total: values.length,
      hasMore: values.length > MAX_COMPLETIONS,
    },
  }
}

function toArguments(skill: Skill): NonNullable<Prompt['arguments']> {
  const named = readArgumentHints(skill.extra)
  if (named.length > 0) return named.map(toArgument)
  const hint = skill.extra['argument-hint']
  const description =
    typeof hint === 'string' && hint.trim() !== ''
      ? escapeControls(hint.trim())
      : 'What to use the skill for.'
  return [{ name: FREE_ARGUMENT, description, required: false }]
}

function toArgument({
  name,
  isRequired,
  choices,
  description,
}: ReturnType<typeof readArgumentHints>[number]): {
  name: string
  description?: string
  required: boolean
} {
  const text = choices.length > 0 ? `One of ${choices.join(', ')}.` : description
  const shown = text === undefined ? {} : { description: escapeControls(text) }
  return { name, ...shown, required: isRequired }
}

function requireArguments(skill: Skill, given: Readonly<Record<string, string>>): void {
  const missing = readArgumentHints(skill.extra)
    .filter(
      ({ name, isRequired }) => isRequired && (!Object.hasOwn(given, name) || given[name]?.trim() === ''),
    )
    .map(({ name }) => name)
  if (missing.length === 0) return
  const message = `the prompt ${quote(skill.name)} needs a value for ${quoteAll(missing)}`
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, message)
}

function toValues(skill: Skill, given: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (readArgumentHints(skill.extra).length > 0) return given
  return Object.hasOwn(given, FREE_ARGUMENT) ? { ARGUMENTS: given[FREE_ARGUMENT] ?? '' } : {}
}
