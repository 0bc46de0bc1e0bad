import type { Command } from 'commander'
import { resolveConfig } from '../config/config.ts'
import { openSkills } from '../skills/open-skills.ts'
import type { Answer } from '../terminal/answer.ts'
import type { SHELLS } from '../verbs/completion-verb.ts'
import { findVerb } from '../verbs/unknown-verb.ts'

type Shell = (typeof SHELLS)[number]

// Each script calls the program that the user typed, with the words up to the cursor. If nothing is found, the shell
// completes file names.
const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `_stoke() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do COMPREPLY+=("$line"); done < <(
    "\${COMP_WORDS[0]}" completion bash --complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null
  )
}
complete -o default -F _stoke stoke skillstoke`,
  zsh: `_stoke() {
  local -a found
  found=("\${(@f)$("\${words[1]}" completion zsh --complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found[1]" ]]; then compadd -a found; else _files; fi
}
compdef _stoke stoke skillstoke`,
  fish: `function __stoke_complete
  set -l words (commandline -opc)
  $words[1] completion fish --complete -- $words[2..] (commandline -ct) 2>/dev/null
end
complete -c stoke -a '(__stoke_complete)'
complete -c skillstoke -a '(__stoke_complete)'`,
}

/** Implements `stoke completion`: prints the script of a shell, or what may replace the last word. */
export async function completion(
  program: Command,
  { complete: isAsked = false }: { readonly complete?: boolean },
  shell: string,
  words: readonly string[],
): Promise<Answer> {
  const lines = isAsked ? await complete(words, program) : [SCRIPTS[shell as Shell]]
  return { json: lines, text: () => lines }
}

/** Returns the words that may replace the last word of a command line. */
async function complete(words: readonly string[], program: Command): Promise<readonly string[]> {
  const last = words.at(-1) ?? ''
  const before = words.slice(0, -1)
  let command = program
  for (const word of before) command = findVerb(word, command) ?? command
  const found = await listChoices(before, last, command)
  return found.filter(each => each.startsWith(last))
}

async function listChoices(
  before: readonly string[],
  last: string,
  command: Command,
): Promise<readonly string[]> {
  const option = command.options.find(({ long }) => long === before.at(-1))
  if (option !== undefined && !option.isBoolean()) return option.argChoices ?? []
  if (last.startsWith('-')) return command.options.flatMap(({ long, hidden }) => (hidden ? [] : (long ?? [])))
  if (command.commands.length > 0) return command.commands.map(each => each.name())
  const [argument] = command.registeredArguments
  if (argument?.argChoices !== undefined) return argument.argChoices
  return ['name', 'skill', 'target'].includes(argument?.name() ?? '')
    ? await listSkillNames(before, command)
    : []
}

/** Matches names that a shell reads as one plain word. Other people choose the names of skills. */
const PLAIN = /^[\p{L}\p{N}._-]+$/u

/** Returns the names of the skills in the roots that the words name, or in the default roots. */
async function listSkillNames(words: readonly string[], command: Command): Promise<readonly string[]> {
  command.parseOptions([...words])
  await using skills = await openSkills(await resolveConfig(command.opts()), { watching: 'off' })
  return [...new Set(skills.current.reports().map(({ name }) => name))].filter(name => PLAIN.test(name))
}
