import { readMarkdown } from '../markdown.ts'
import type { Found, Rule } from './rule.ts'

/** Keys of known services: a known prefix, the whole length, and a boundary on both sides. */
const KEYS: readonly (readonly [service: string, pattern: string])[] = [
  ['GitHub', 'gh[pousr]_[A-Za-z0-9]{36}'],
  ['GitHub', 'github_pat_[A-Za-z0-9_]{82}'],
  ['GitLab', 'glpat-[A-Za-z0-9_-]{20}'],
  ['Anthropic', 'sk-ant-[a-z]+\\d+-[A-Za-z0-9_-]{80,}'],
  ['OpenAI', 'sk-(?:proj-|svcacct-|admin-)[A-Za-z0-9_-]{40,}'],
  ['OpenAI', 'sk-[A-Za-z0-9]{48}'],
  ['AWS', '(?:AKIA|ASIA)[A-Z2-7]{16}'],
  ['Google', 'AIza[A-Za-z0-9_-]{35}'],
  ['Slack', 'xox[abprs]-[A-Za-z0-9-]{20,}'],
  ['Stripe', '[rs]k_live_[A-Za-z0-9]{24,}'],
  ['npm', 'npm_[A-Za-z0-9]{36}'],
  ['Hugging Face', 'hf_[A-Za-z]{34}'],
  ['SendGrid', 'SG\\.[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}'],
]
const ANY_KEY = new RegExp(
  `(?<![A-Za-z0-9_-])(?:${KEYS.map(([, pattern]) => `(${pattern})`).join('|')})(?![A-Za-z0-9_-])`,
  'g',
)
// No two branches match the same character, so that a hostile text costs no time.
const PRIVATE_KEY = /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----(?:[\w+/=:,.\s\\]|-(?!-)){200,}-----END /
const SAMPLE = /example|sample|your|xxxx|test|fake|dummy|placeholder|redacted|1234567|abcdef|a1b2c3/i
/** Below this number of bits a character, a text is too regular for a key. */
const MIN_ENTROPY = 3.3

/** Reports keys of known services, and private keys, in every text of the skill. */
export const checkSecrets: Rule = async skill => {
  const found: Found[] = [...findSecrets(skill.text)]
  for (const path of skill.files.keys()) {
    if (/^skill\.md$/i.test(path)) continue
    const text = await skill.read(path)
    if (text !== undefined) found.push(...findSecrets(text).map(each => ({ ...each, file: path })))
  }
  return found
}

/** Finds the secrets of one text. The message never repeats the secret. */
export function findSecrets(text: string): readonly Found[] {
  const found: Found[] = []
  for (const match of text.matchAll(ANY_KEY)) {
    const service = KEYS[match.slice(1).findIndex(each => each !== undefined)]?.[0] ?? ''
    const line = text.slice(text.lastIndexOf('\n', match.index) + 1, match.index)
    if (!SAMPLE.test(line + match[0]) && entropyOf(match[0]) >= MIN_ENTROPY)
      found.push(toFound(text, match.index, `a key of ${service}`))
  }
  const block = PRIVATE_KEY.exec(text)
  if (block !== null && !SAMPLE.test(block[0])) found.push(toFound(text, block.index, 'a private key'))
  return found
}

function toFound(text: string, index: number, what: string): Found {
  const line = readMarkdown(text.slice(0, index)).lines.at(-1)
  return {
    ...{ code: 'SECRET_FOUND', line: line?.number ?? 1, column: index - (line?.start ?? 0) + 1 },
    message: `the file contains ${what}`,
    fix: 'revoke the key, and read it from an environment variable',
  }
}

/** Returns the entropy of a text in bits a character. */
function entropyOf(text: string): number {
  const counts = Map.groupBy(text, character => character)
  return [...counts.values()].reduce(
    (sum, { length }) => sum - (length / text.length) * Math.log2(length / text.length),
    0,
  )
}
