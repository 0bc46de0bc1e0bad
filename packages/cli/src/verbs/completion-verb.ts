import { Argument, type Command, Option } from 'commander'
import { actAlone } from './act.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const

/** Adds the verb that prints the completion script of a shell. The script calls the same verb with `--complete`. */
export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print a script with which a shell completes verbs, options and skill names')
    .addArgument(new Argument('<shell>', 'shell that runs the script').choices(SHELLS))
    .argument('[word...]', 'words to complete, which the script passes')
    .addOption(new Option('--complete').hideHelp())
    .addHelpText(
      'after',
      '\nExamples:\n  eval "$(stoke completion bash)"     in ~/.bashrc\n  eval "$(stoke completion zsh)"      in ~/.zshrc, after compinit\n  stoke completion fish | source      in ~/.config/fish/config.fish',
    )
    .action(
      actAlone(async () => {
        const { completion } = await import('../commands/completion.ts')
        return async (flags: { readonly complete?: boolean }, shell: string, words: readonly string[]) =>
          await completion(program, flags, shell, words)
      }),
    )
}
