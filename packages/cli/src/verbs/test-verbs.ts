import type { Command } from 'commander'
import { act } from './act.ts'
import { withScopeOptions, withSharedOptions } from './verb-options.ts'

/** Adds the verbs that compare skills with messages and with each other. */
export function addTestVerbs(program: Command): void {
  addTest(program)
  addCollisions(program)
}

function addTest(program: Command): void {
  withScopeOptions(withSharedOptions(program.command('test')))
    .description(
      'estimate from words which messages would load a skill, with the messages in evals/tests.yaml',
    )
    .argument(
      '[skill...]',
      'skill names, or - for messages from standard input (default: all skills with tests)',
    )
    .option(
      '--export <file>',
      'write the messages of one skill as JSON with query and should_trigger; - prints them',
    )
    .addHelpText(
      'after',
      `
Asks no model: it compares the words of each message with the descriptions of all skills. So no verdict is a pass, and the
exit code is 0. With -, each line of standard input is a message, which should load the named skill.

Examples:
  stoke test
  stoke test pdf
  stoke test pdf --json
  stoke test pdf --export trigger-evals.json
  stoke test - < messages.txt`,
    )
    .action(act(async () => (await import('../commands/test.ts')).test))
}

function addCollisions(program: Command): void {
  withScopeOptions(withSharedOptions(program.command('collisions')))
    .description('find skills whose descriptions are so alike that a message could load either')
    .argument('[skill...]', 'only pairs with these skills (default: all pairs)')
    .addHelpText(
      'after',
      `
Compares words, asks no model, and exits with 0. A pair is settled if one description says when to use the other skill.

Examples:
  stoke collisions
  stoke collisions ads
  stoke collisions --json`,
    )
    .action(act(async () => (await import('../commands/collisions.ts')).collisions))
}
