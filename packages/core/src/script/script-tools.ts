import type { Conversation } from '../activation/conversation.ts'
import { defined } from '../defined.ts'
import { SkillError } from '../errors.ts'
import { quote } from '../quote.ts'
import { askFor, findByNameOrFolder, suggestInScope } from '../reader/find-by-name.ts'
import { type Digest, shortDigest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import { splitCalledCommand } from '../tool/called-command.ts'
import { defineTool, defineToolBySchema, type ToolCall } from '../tool/define-tool.ts'
import {
  type CommandTool,
  type ToolDefinition,
  type ToolResult,
  toolFailure,
  toolSuccess,
} from '../tool/tool-definition.ts'
import { TOOL_NAMES } from '../tool/tool-names.ts'
import { cutOutput, mayMislead, type OutputOrigin, wrapOutput } from '../tool/wrap-output.ts'
import type { SkillCommand } from './command.ts'
import { describeShadowed, isSamePlace } from './program-slots.ts'
import type { ScriptFileRun } from './script-runner.ts'
import type { CommandResult, SkillScripts } from './skill-scripts.ts'

/** Creates the tools `run_skill_command` and `run_skill_script`. Their definitions do not change when skills change. */
export function createScriptTools(
  conversation: Conversation,
  scripts: SkillScripts,
): readonly ToolDefinition[] {
  return [createCommandTool(conversation, scripts), createFileTool(conversation, scripts)]
}

/**
 * Creates one tool for each current command, named after the command. The list of tools changes with the skills. Each
 * call runs the newest code of its command.
 */
export function createCommandTools(
  conversation: Conversation,
  scripts: SkillScripts,
  toName: (command: SkillCommand) => string,
): readonly CommandTool[] {
  return scripts
    .list()
    .filter(({ skill }) => conversation.reader.isInScope(skill))
    .map(command => ({
      skill: command.skill,
      tool: defineToolBySchema({
        name: toName(command),
        description: command.description,
        schema: command.inputSchema,
        hints: command.hints,
        reportsProgress: true,
        run: (input, call) => runCommand(conversation, scripts, command.skill, command.name, input, call),
      }),
    }))
}

function createCommandTool(conversation: Conversation, scripts: SkillScripts): ToolDefinition {
  return defineTool({
    name: TOOL_NAMES.runCommand,
    description:
      'Run a command that a skill offers. Load the skill first: it tells which commands there are and what they take. ' +
      'The newest code of the skill runs.',
    properties: {
      skill: { type: 'string', description: 'Name of the skill.' },
      command: { type: 'string', description: 'Name of the command, for example "status".' },
      input: { type: 'object', description: 'What the command takes. Leave out for nothing.' },
    },
    required: ['skill', 'command'],
    hints: { readOnly: false, openWorld: true },
    reportsProgress: true,
    async run({ skill, command, input = {} }, call) {
      const parts = splitCalledCommand(skill, command)
      if (parts === undefined)
        return toolFailure(
          '"skill" and "command" are needed, for example {"skill": "git", "command": "status", "input": {}}',
        )
      return await runCommand(conversation, scripts, parts.skill, parts.command, input, call)
    },
  })
}

function createFileTool(conversation: Conversation, scripts: SkillScripts): ToolDefinition {
  return defineTool({
    name: TOOL_NAMES.runScript,
    description:
      'Run a script that is bundled with a skill, such as scripts/convert.py, with its interpreter. The answer has what it ' +
      `wrote and its exit code. For commands that the skill offers use ${TOOL_NAMES.runCommand}.`,
    properties: {
      skill: { type: 'string', description: 'Name of the skill.' },
      path: { type: 'string', description: 'Path of the script, for example "scripts/convert.py".' },
      args: { type: 'array', items: { type: 'string' }, description: 'Arguments of the script.' },
    },
    needs: { skill: 'pdf', path: 'scripts/fill.py' },
    hints: { readOnly: false, openWorld: true },
    async run({ skill, path: script, args = [] }, call) {
      return await answerFor(conversation, scripts, [skill, script], async ({ name }) => {
        const run = await scripts.run(name, script, args.map(String), call)
        const { revision } = run
        return { result: renderRun(run, { skill: name, from: script, revision }), revision }
      })
    },
  })
}

async function runCommand(
  conversation: Conversation,
  scripts: SkillScripts,
  skill: string,
  command: string,
  input: unknown,
  call: ToolCall,
): Promise<ToolResult> {
  return await answerFor(conversation, scripts, [skill, command], async ({ name }) => {
    const result = await scripts.execute(`${name}.${command}`, input, call)
    const { value, revision } = result
    const text = renderValue(result, conversation)
    const structured = isWholeText(value, text) ? value : undefined
    return { result: { ...toolSuccess(text), ...defined({ structured }) }, revision }
  })
}

/** The answer of a script, and the revision whose code gave it. */
interface Answer {
  readonly result: ToolResult
  readonly revision: Digest
}

/**
 * Answers a call of a command or a file of a skill. If a script or a model caused an error, turns the error into an
 * answer. Rethrows aborts and failures of the machine.
 */
async function answerFor(
  conversation: Conversation,
  scripts: SkillScripts,
  [requested, from]: readonly [skill: string, from: string],
  call: (skill: Skill) => Promise<Answer>,
): Promise<ToolResult> {
  const found = await findSkill(conversation, scripts, requested)
  if ('isError' in found) return found
  const { name: skill, revision: served } = found.skill
  const answer = ({ result, revision }: Answer): ToolResult => {
    return { ...result, generation: conversation.reader.current.digest, skill, revision }
  }
  try {
    return answer(await call(found.skill))
  } catch (thrown) {
    if (!SkillError.isInstance(thrown) || thrown.code === 'CLOSED') throw thrown
    const origin = { skill, from, revision: served }
    const text = [...renderKeptResult(thrown, origin), renderFailure(thrown, origin)].join('\n')
    return answer({ result: toolFailure(text), revision: served })
  }
}

/** The message of an error can contain a text that the script has thrown, or that a schema of the script gives. */
function renderFailure({ code, message }: SkillError, origin: Omit<OutputOrigin, 'stream'>): string {
  const isForeign = code === 'SCRIPT_FAILED' || code === 'INPUT_INVALID'
  return isForeign && mayMislead(message) ? wrapOutput(message, { ...origin, stream: 'error' }) : message
}

/** If a script succeeded but left what no script may leave, its result is in the error. */
function renderKeptResult({ data }: SkillError, origin: Omit<OutputOrigin, 'stream'>): readonly string[] {
  const result = data['result'] as { readonly value: unknown } | ScriptFileRun | undefined
  if (result === undefined) return []
  return 'stdout' in result
    ? [renderRun(result, origin).text]
    : [wrapOutput(renderCommandValue(result.value), { ...origin, stream: 'result' })]
}

async function findSkill(
  conversation: Conversation,
  scripts: SkillScripts,
  requested: string,
): Promise<{ readonly skill: Skill } | ToolResult> {
  const { reader } = conversation
  const asked = await askFor(requested, reader)
  const { name, generation } = asked
  const skill = findByNameOrFolder(generation, name, reader.isInScope)
  if (skill === undefined) {
    const hint = suggestInScope(asked, reader.isInScope)
    return toolFailure(`no skill ${quote(requested)}${hint}`, { generation: generation.digest })
  }
  if (scripts.isServed(skill)) return { skill }
  const origin = { generation: generation.digest, skill: skill.name, revision: skill.revision }
  const served = generation.find(skill.name)
  if (served !== undefined && !isSamePlace(served, skill))
    return toolFailure(`${describeShadowed(skill, served)}; use ${quote(skill.name)}`, origin)
  return toolFailure(
    `the scripts of ${quote(skill.name)} are not served; they run after a person approves them`,
    origin,
  )
}

/** Renders the result of a command as text for a model. */
export function renderCommandValue(value: unknown): string {
  if (value === undefined || value === null) return 'done'
  return typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)
}

function renderValue({ value, revision, command }: CommandResult, conversation: Conversation): string {
  const { skill, name } = command
  const text =
    typeof value === 'string' && mayMislead(value)
      ? wrapOutput(value, { skill, from: name, revision, stream: 'result' })
      : cutOutput(renderCommandValue(value))
  const loaded = conversation.ledger.find(command.skill)
  if (loaded === undefined || loaded.revision === revision) return text
  return `${text}\nNote: you loaded ${quote(command.skill)} at ${shortDigest(loaded.revision)}; this ran at ${shortDigest(revision)}.`
}

/** Returns whether a value is an object, and the text says all of it and nothing else. */
function isWholeText(value: unknown, text: string): value is Readonly<Record<string, unknown>> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject && text === renderCommandValue(value)
}

function renderRun(
  { exitCode, signal, isTruncated, ...texts }: ScriptFileRun,
  origin: Omit<OutputOrigin, 'stream'>,
): ToolResult {
  const isError = exitCode !== 0
  const lines = [
    ...(['stdout', 'stderr'] as const).flatMap(stream => {
      const text = texts[stream].trimEnd()
      return text === '' ? [] : [wrapOutput(text, { ...origin, stream })]
    }),
    ...(isTruncated ? ['It wrote more than is kept.'] : []),
    exitCode === undefined ? `ended by ${signal ?? 'a signal'}` : `exit code ${exitCode}`,
  ]
  return isError ? toolFailure(lines.join('\n')) : toolSuccess(lines.join('\n'))
}
