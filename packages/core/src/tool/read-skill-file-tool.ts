import type { Conversation } from '../activation/conversation.ts'
import { noteLostFile } from '../activation/lost-skill-file.ts'
import { escapeEndTag, escapeText } from '../catalog/escape.ts'
import { SkillError } from '../errors.ts'
import { quote } from '../quote.ts'
import {
  type AskedName,
  askFor,
  findByNameOrFolder,
  suggestInScope,
  toKnownName,
} from '../reader/find-by-name.ts'
import { useNewest } from '../reader/use-newest.ts'
import type { Generation } from '../registry/generation.ts'
import { describeUnread } from '../registry/skill-not-found.ts'
import { type Digest, shortDigest } from '../skill/digest.ts'
import type { SkillFile } from '../skill/manifest.ts'
import { suggest } from '../skill/near-names.ts'
import type { Skill } from '../skill/skill.ts'
import { parseSkillPath } from '../skill/skill-path.ts'
import { isTestFile } from '../skill/test-files.ts'
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
        const wanted = parseSkillPath(path.replace(/^\.\//, ''))
        const asked = await askFor(skill, conversation.reader)
        return await useNewest(conversation.reader, asked, async generation => {
          const file = await readFile({ ...asked, generation }, wanted, revision, conversation)
          signal?.throwIfAborted()
          conversation.ledger.saw(file.knownName, file.revision)
          return renderFile(file, offset)
        })
      } catch (thrown) {
        if (SkillError.isInstance(thrown)) return toolFailure(thrown.message)
        throw thrown
      }
    },
  })
}

/** One file of one revision of a skill. */
interface ReadFile {
  /** The newest revision of the skill. */
  readonly skill: Skill
  /** The name under which the conversation knows the skill. */
  readonly knownName: string
  readonly revision: Digest
  readonly file: SkillFile
  readonly bytes: Uint8Array
  /** What the model has to know about the revision. */
  readonly notes: readonly string[]
  readonly generation: Generation
}

/**
 * Reads a file by its digest, so that the bytes always belong to the returned revision.
 * @throws {SkillError} SKILL_NOT_FOUND, REVISION_NOT_FOUND or FILE_NOT_FOUND, each with the available values
 */
async function readFile(
  { generation, name }: AskedName,
  path: string,
  wanted: string | undefined,
  conversation: Conversation,
): Promise<ReadFile> {
  const { reader, ledger } = conversation
  const skill = findByNameOrFolder(generation, name, reader.isInScope)
  if (skill === undefined) {
    const hint = suggestInScope({ name, generation }, reader.isInScope)
    const unread = describeUnread(generation.sources())
    throw new SkillError('SKILL_NOT_FOUND', `there is no skill ${quote(name)}${unread}${hint}`)
  }
  const loaded = (ledger.find(name) ?? ledger.find(skill.name))?.revision
  const knownName = toKnownName(generation, skill, name)
  const { revision, files } = await findRevision(skill, wanted, knownName, conversation)
  const file = files.find(each => each.path === path)
  if (file === undefined) {
    const paths = files.filter(each => !isTestFile(each)).map(each => each.path)
    const hint = suggest(path, paths) || `; it has: ${paths.slice(0, 20).join(', ')}`
    throw new SkillError('FILE_NOT_FOUND', `${quote(skill.name)} has no file ${quote(path)}${hint}`)
  }
  const bytes = await reader.readFile({ name: skill.name, revision, files }, path)
  const lost = wanted === undefined ? noteLostFile(skill) : undefined
  const notes = lost === undefined ? [] : [lost]
  if (loaded !== undefined && loaded !== revision)
    notes.push(
      `Note: you loaded ${quote(skill.name)} at ${shortDigest(loaded)}; this file is from ${shortDigest(revision)}.`,
    )
  return { skill, knownName, revision, file, bytes, notes, generation }
}

const MIN_DIGITS = 8

async function findRevision(
  skill: Skill,
  wanted: string | undefined,
  knownName: string,
  { ledger, reader }: Conversation,
): Promise<Pick<Skill, 'revision' | 'files'>> {
  if (wanted === undefined || wanted === '') return skill
  const digits = wanted.replace(/^sha256:/, '').toLowerCase()
  const matches = (revision: Digest): boolean =>
    digits.length >= MIN_DIGITS && revision.slice(7).startsWith(digits)
  if (matches(skill.revision)) return skill
  // A revision does not show which skill it belongs to. Accept only revisions of this skill that the conversation has
  // seen. Otherwise a model could read skills outside its scope. A person may have rejected the revision since then.
  const revision = ledger.seen(knownName).find(matches)
  const isClaimed = revision === undefined || !ledger.isProven(knownName, revision)
  const earlier = revision === undefined ? undefined : await reader.findEarlier(skill, revision, isClaimed)
  if (earlier !== undefined) return earlier
  throw new SkillError(
    'REVISION_NOT_FOUND',
    `revision ${quote(wanted)} of ${quote(skill.name)} is not available; the newest is ${skill.revision}`,
  )
}

function renderFile({ skill, file, bytes, generation, ...read }: ReadFile, offset: number): ToolResult {
  const revision = shortDigest(read.revision)
  const origin = { generation: generation.digest, skill: skill.name, revision: read.revision }
  const notes = [...read.notes]
  const [name, path] = [escapeText(skill.name), escapeText(file.path)]
  const text = decodePlainText(bytes)
  if (text === undefined) {
    notes.push(`${path} is not text: ${bytes.length} bytes, ${file.digest}.`)
    return toolSuccess([`revision: ${revision}`, ...notes].join('\n'), origin)
  }
  const end = offset + MAX_CHARACTERS
  if (offset > 0 && offset >= text.length)
    return toolFailure(`"offset" is ${offset}, but the file has ${text.length} characters`, origin)
  if (end < text.length)
    notes.push(`Characters ${offset} to ${end} of ${text.length}; read on with "offset": ${end}.`)
  const tag = `file_${shortDigest(file.digest)}`
  const open = `<${tag} skill="${name}" path="${path}" revision="${revision}">`
  const shown = escapeEndTag(text.slice(offset, end), tag)
  return toolSuccess([open, shown, `</${tag}>`, ...notes].join('\n'), origin)
}
