import type { Conversation } from '../activation/conversation.ts'
import { type ResourceContent, readResource } from '../activation/read-resource.ts'
import { escapeEndTag, escapeText } from '../catalog/escape.ts'
import { SkillError } from '../errors.ts'
import { quote } from '../quote.ts'
import { shortDigest } from '../skill/digest.ts'
import { decodePlainText } from '../skill/text.ts'
import { defineTool } from './define-tool.ts'
import { type ToolDefinition, type ToolResult, toolFailure, toolSuccess } from './tool-definition.ts'
import { TOOL_NAMES } from './tool-names.ts'

const MAX_CHARACTERS = 40_000

/**
 * Creates the tool that reads a file of a skill. The file is read at the newest revision, or at a given revision that
 * the conversation has seen.
 */
export function createReadSkillFileTool(conversation: Conversation): ToolDefinition {
  return defineTool({
    name: TOOL_NAMES.readFile,
    description:
      'Read a file that belongs to a skill, for example a reference, a template or a script. ' +
      'Without a revision the newest one is read; the answer names the revision.',
    properties: {
      skill: { type: 'string', description: 'Name of the skill.' },
      path: {
        type: 'string',
        description: 'Path relative to the folder of the skill, for example "references/guide.md".',
      },
      revision: {
        type: 'string',
        description: 'A revision named in an earlier answer. Leave out for the newest.',
      },
      offset: {
        type: 'integer',
        minimum: 0,
        description: 'Characters to skip, to read on in a long file.',
      },
    },
    needs: { skill: 'pdf', path: 'references/forms.md' },
    // The field names of RustFox. A model may know these names from `write_skill_file`.
    aliases: { skill_name: 'skill', relative_path: 'path' },
    async run({ skill, path, revision, offset = 0 }, { signal }) {
      try {
        return renderResource(await readResource({ skill, path, revision }, conversation, signal), offset)
      } catch (thrown) {
        if (SkillError.isInstance(thrown)) return toolFailure(thrown.message)
        throw thrown
      }
    },
  })
}

function renderResource(content: ResourceContent, offset: number): ToolResult {
  const revision = shortDigest(content.revision)
  const origin = {
    generation: content.generation.digest,
    skill: content.skill,
    revision: content.revision,
  }
  const notes: string[] = content.note === undefined ? [] : [content.note]
  if (content.loadedRevision !== undefined) {
    notes.push(
      `Note: you loaded ${quote(content.skill)} at ${shortDigest(content.loadedRevision)}; this file is from ${revision}.`,
    )
  }
  const text = decodePlainText(content.bytes)
  if (text === undefined) {
    notes.push(`${escapeText(content.path)} is not text: ${content.bytes.length} bytes, ${content.digest}.`)
    return toolSuccess([`revision: ${revision}`, ...notes].join('\n'), origin)
  }
  const end = offset + MAX_CHARACTERS
  if (offset > 0 && offset >= text.length)
    return toolFailure(`"offset" is ${offset}, but the file has ${text.length} characters`, origin)
  if (end < text.length)
    notes.push(`Characters ${offset} to ${end} of ${text.length}; read on with "offset": ${end}.`)
  const tag = `file_${content.digest.slice(7, 15)}`
  const open = `<${tag} skill="${escapeText(content.skill)}" path="${escapeText(content.path)}" revision="${revision}">`
  return toolSuccess(
    [open, escapeEndTag(text.slice(offset, end), tag), `</${tag}>`, ...notes].join('\n'),
    origin,
  )
}
