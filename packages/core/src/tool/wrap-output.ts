import { escapeEndTag, escapeText } from '../catalog/escape.ts'
import { type Digest, shortDigest } from '../skill/digest.ts'

/** Where a text comes from. */
export interface OutputOrigin {
  readonly skill: string
  /** Name of the command, or path of the script. */
  readonly from: string
  readonly revision: Digest
  readonly stream: 'result' | 'stdout' | 'stderr' | 'error'
}

const TAG = 'script_output'
const MAX_CHARACTERS = 40_000

/**
 * Wraps a text that a script wrote, and cuts a long text. A script can write anything, so without the wrapping a model
 * could take the text for a notice, an exit code or the answer of a tool.
 */
export function wrapOutput(text: string, { skill, from, revision, stream }: OutputOrigin): string {
  const [name, source] = [escapeText(skill), escapeText(from)]
  const open = `<${TAG} skill="${name}" from="${source}" revision="${shortDigest(revision)}" stream="${stream}">`
  return [open, escapeEndTag(cutOutput(text), TAG), `</${TAG}>`].join('\n')
}

/** Cuts a text after the number of characters that a model gets, and says how many are missing. */
export function cutOutput(text: string): string {
  if (text.length <= MAX_CHARACTERS) return text
  return `${text.slice(0, MAX_CHARACTERS)}\n... ${text.length - MAX_CHARACTERS} more characters`
}

/** Whether a text without its tag could be taken for a line or a tag of Skillstoke. */
export function mayMislead(text: string): boolean {
  return /[\r\n\u2028\u2029<]|^\s*note:/i.test(text)
}
