import type { Found, Rule } from './rule.ts'

const NETWORK =
  /\b(?:requests|urllib|httpx|aiohttp|fetch\(|axios|http\.client|socket\.|curl|wget|Invoke-WebRequest|net\/http)\b/
const PIPE =
  /\b(?:curl|wget)\b[^|\n]{0,500}\|\s{0,9}(?:sudo\s{1,9})?(?:ba|z|da)?sh\b|\biwr\b[^|\n]{0,500}\|\s{0,9}iex\b/i
const ARCHIVE = /\.(?:zip|tar|tgz|gz|7z|rar|xz|bz2|whl|jar|skill)$/i
const BINARY = /\.(?:exe|dll|so|dylib|bin|o|a|class|pyc|wasm|node)$/i

/** Lists the facts that a reader of somebody else's skill should look at first. */
export const reviewSkill: Rule = async (skill, { profiles }) => {
  if (!profiles.includes('review')) return []
  const found: Found[] = []
  if (skill.fields.allowedTools.some(tool => /^Bash(?:\(\s*(?:\*\s*)?\))?$/.test(tool)))
    found.push({
      code: 'TOOLS_BASH_ALL',
      line: skill.lineOf('allowed-tools'),
      column: 1,
      message: 'the skill asks to run every command without a question',
    })
  for (const path of skill.files.keys()) {
    if (ARCHIVE.test(path))
      found.push({
        code: 'FILE_ARCHIVE',
        file: path,
        message: 'the file is an archive, whose contents no check reads',
      })
    if (BINARY.test(path))
      found.push({ code: 'FILE_EXECUTABLE_BINARY', file: path, message: 'the file is a compiled program' })
    const text = (await skill.read(path)) ?? ''
    if (path.startsWith('scripts/'))
      found.push(...findFirst(text, NETWORK, 'SCRIPT_NETWORK', 'the script mentions the network', path))
    found.push(...findFirst(text, PIPE, 'PIPE_TO_SHELL', 'a command runs what it downloads', path))
  }
  return found
}

function findFirst(
  text: string,
  pattern: RegExp,
  code: Found['code'],
  message: string,
  file: string,
): readonly Found[] {
  const match = pattern.exec(text)
  if (match === null) return []
  const before = text.slice(0, match.index).split('\n')
  return [{ code, file, line: before.length, column: (before.at(-1)?.length ?? 0) + 1, message }]
}
