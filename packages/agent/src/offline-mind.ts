import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { TOOL_NAMES } from '@skillstoke/core/internal'
import { planAuthoring } from './offline-author.ts'

export type OfflineDecision =
  | { readonly kind: 'call'; readonly tool: string; readonly input: unknown; readonly callId: string }
  | { readonly kind: 'answer'; readonly text: string }

interface KnownSkill {
  readonly name: string
  readonly description: string
  /** Instructions of the skill, if the conversation contains them. */
  body?: string
  revision?: string
  /** Whether a notice reported a newer revision of the skill. */
  isStale?: boolean
}

/** Chooses the next step of the offline model. The choice depends only on the prompt and the available tools. */
export function decideOffline(prompt: LanguageModelV4Prompt, tools: readonly string[]): OfflineDecision {
  const skills = new Map<string, KnownSkill>()
  let question = ''
  let failure: string | undefined
  let answer = ''
  let results = 0
  prompt.forEach(message => {
    if (message.role === 'system') learnCatalog(message.content, skills)
    if (message.role === 'user') {
      const text = textOf(message)
      if (text.includes('<skills_update')) learnUpdate(text, skills)
      else {
        question = learnInvoked(text, skills)
        failure = undefined
        results = 0
      }
    }
    if (message.role === 'tool') {
      failure = learnResults(message, skills)
      answer = resultOf(message)
      results++
    }
  })
  const callId = `call-${prompt.length}`
  const command = planCommand(question, tools)
  if (command !== undefined)
    return results === 0 ? { kind: 'call', ...command, callId } : { kind: 'answer', text: failure ?? answer }
  const plan = planAuthoring(question, tools)
  if (failure !== undefined)
    return {
      kind: 'answer',
      text: `I could not ${plan === undefined ? 'load' : 'write'} the skill: ${failure}`,
    }
  if (plan !== undefined) {
    const next = plan.calls[results]
    return next === undefined
      ? { kind: 'answer', text: plan.confirmation }
      : { kind: 'call', ...next, callId }
  }
  const skill = chooseSkill(question, [...skills.values()])
  if (skill === undefined || !tools.includes(TOOL_NAMES.loadSkill)) {
    return { kind: 'answer', text: describeSight([...skills.keys()], tools) }
  }
  if (skill.body === undefined || skill.isStale === true) {
    return { kind: 'call', tool: TOOL_NAMES.loadSkill, input: { name: skill.name }, callId }
  }
  return {
    kind: 'answer',
    text: `By the skill ${skill.name} (${skill.revision}): ${firstParagraph(skill.body)}`,
  }
}

/** Returns the tool call for a line such as `/orders.find {"order": 1042}`, which names a command of a skill. */
function planCommand(
  question: string,
  tools: readonly string[],
): { readonly tool: string; readonly input: unknown } | undefined {
  const [, skill, command, json = '{}'] = /^\/([^\s.]+)\.([\w-]+)\s*(\{.*\})?$/s.exec(question.trim()) ?? []
  if (skill === undefined || command === undefined || !tools.includes(TOOL_NAMES.runCommand)) return undefined
  // Does not check the JSON, because the tool reports invalid JSON.
  return { tool: TOOL_NAMES.runCommand, input: { skill, command, input: json } }
}

/** Returns the results of tools, without the tag around the output of scripts. */
function resultOf(message: LanguageModelV4Message & { role: 'tool' }): string {
  return message.content
    .flatMap(part => (part.type === 'tool-result' && part.output.type === 'text' ? part.output.value : []))
    .map(text => text.replace(/^<script_output [^>]*>\n(.*?)\n<\/script_output>/s, '$1'))
    .join('\n')
}

function learnCatalog(text: string, skills: Map<string, KnownSkill>): void {
  for (const [, name, description] of text.matchAll(
    /<skill>\s*<name>(.*?)<\/name>\s*<description>(.*?)<\/description>/gs,
  )) {
    const known = unescapeXml(name ?? '')
    skills.set(known, { name: known, description: unescapeXml(description ?? '') })
  }
}

function learnUpdate(text: string, skills: Map<string, KnownSkill>): void {
  for (const [, name, description] of text.matchAll(/^- (?:added|description changed): ([^:\n]+): (.*)$/gm)) {
    const known = unescapeXml(name ?? '')
    skills.set(known, { ...skills.get(known), name: known, description: unescapeXml(description ?? '') })
  }
  for (const [, name] of text.matchAll(/^- removed: (.+)$/gm)) skills.delete(unescapeXml(name ?? ''))
  for (const [, name] of text.matchAll(/^- you loaded (\S+) at \S+, it is now \S+: load it again/gm)) {
    const skill = skills.get(unescapeXml(name ?? ''))
    if (skill !== undefined) skill.isStale = true
  }
}

/** Records the skill that a slash command inserted into a message. Returns the message without the inserted skill. */
function learnInvoked(text: string, skills: Map<string, KnownSkill>): string {
  const [block, name, body] = /<skill name="([^"]*)">\n(.*)\n<\/skill>$/s.exec(text) ?? []
  if (block === undefined || name === undefined || body === undefined) return text
  const known = unescapeXml(name)
  const skill = skills.get(known) ?? { name: known, description: '' }
  skills.set(known, { ...skill, body, revision: 'as invoked', isStale: false })
  return `${known} ${text.slice(0, -block.length)}`
}

/** Learns loaded skills. Returns the failure that a tool reported, if any. */
function learnResults(
  message: LanguageModelV4Message & { role: 'tool' },
  skills: Map<string, KnownSkill>,
): string | undefined {
  let failure: string | undefined
  for (const part of message.content) {
    if (part.type !== 'tool-result') continue
    const { output } = part
    if (output.type === 'error-text') failure = output.value
    if (output.type !== 'text') continue
    const loaded = /^<(skill_[0-9a-f]+) name="([^"]*)" revision="([^"]*)">\n(.*)\n<\/\1>/s.exec(output.value)
    const [, , name, revision, body] = loaded ?? []
    if (name === undefined || revision === undefined || body === undefined) continue
    const known = unescapeXml(name)
    const skill = skills.get(known) ?? { name: known, description: '' }
    skills.set(known, { ...skill, body, revision, isStale: false })
  }
  return failure
}

/** Returns the skill that the question names, or else the skill that shares the most words with the question. */
function chooseSkill(question: string, skills: readonly KnownSkill[]): KnownSkill | undefined {
  const words = new Set(toWords(question))
  let best: KnownSkill | undefined
  let bestScore = 0
  for (const skill of skills) {
    const named = question.toLowerCase().includes(skill.name.toLowerCase()) ? 10 : 0
    const shared = new Set(toWords(`${skill.name} ${skill.description}`).filter(word => words.has(word))).size
    if (named + shared > bestScore) {
      best = skill
      bestScore = named + shared
    }
  }
  return best
}

function toWords(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? []).map(word => word.replace(/(?:ing|ed|s)$/, ''))
}

function firstParagraph(body: string): string {
  const paragraphs = body.split(/\n\s*\n|^#.*$/m).map(paragraph => paragraph.trim())
  const prose = paragraphs.find(paragraph => paragraph !== '')
  return (prose ?? 'it says nothing').replace(/\s+/g, ' ')
}

function describeSight(skills: readonly string[], tools: readonly string[]): string {
  const seen = skills.length === 0 ? 'no skills' : `the skills ${skills.join(', ')}`
  return `I see ${seen} and ${tools.length === 0 ? 'no tools' : `the tools ${tools.join(', ')}`}; none fits the question.`
}

function textOf(message: LanguageModelV4Message & { role: 'user' }): string {
  return message.content.map(part => (part.type === 'text' ? part.text : '')).join('\n')
}

function unescapeXml(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#x27;', "'")
    .replaceAll('&amp;', '&')
}
