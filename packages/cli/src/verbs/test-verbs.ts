import type { TokenPrice } from '@skillstoke/author/trials'
import { type Command, InvalidArgumentError } from 'commander'
import { act } from './act.ts'
import { parseCount, withScopeOptions, withSharedOptions } from './verb-options.ts'

/** Adds the verbs that compare skills with messages and with each other. */
export function addTestVerbs(program: Command): void {
  addTest(program)
  addCollisions(program)
}

function addTest(program: Command): void {
  withScopeOptions(withSharedOptions(program.command('test')))
    .description(
      'test which messages load a skill, with the messages in evals/tests.yaml: from words alone, or with a model',
    )
    .argument(
      '[skill...]',
      'skill names, or - for messages from standard input (default: all skills with tests)',
    )
    .option(
      '--export <file>',
      'write the messages of one skill as JSON with query and should_trigger; - prints them',
    )
    .option(
      '--model <name>',
      'ask this model: a model of the --base-url server, or an AI SDK name such as "openai/gpt-5"',
    )
    .option('--base-url <url>', 'OpenAI-compatible server, for example http://127.0.0.1:11434/v1')
    .option('-k, --repeats <count>', 'how often each message is sent', parseCount, 1)
    .option('--max-calls <count>', 'end after this number of model calls', parseCount, 500)
    .option('--max-cost <dollars>', 'end after this amount; needs --price', parseAmount)
    .option('--price <input/output>', 'dollars for a million tokens, for example 3/15', parsePrice)
    .option('--dry-run', 'only print how many calls and tokens it would take')
    .option(
      '--against <revision>',
      'also test this revision, and print the difference; last-good is the one before',
    )
    .option('--revision <revision>', 'test this revision instead of the served one')
    .option('--answers', 'also test the answers of "ask:", without the skill, with it, and with --against')
    .option('--report <file>', 'write the answers as one HTML file')
    .option('--yes', 'ask no question')
    .addHelpText(
      'after',
      `
Without --model, asks no model: it compares the words of each message with the descriptions of all skills. So no verdict is a pass, and the
exit code is 0. With -, each line of standard input is a message, which should load the named skill.

With --model, sends each message in a conversation of its own, with the catalog that is served now. What the model loads
decides, not what it says. Results are kept: the same catalog and message are not sent twice. Exits with 1 if a
message failed or the run ended early; with --against, if fewer messages passed than there.

Examples:
  stoke test
  stoke test pdf
  stoke test pdf --model qwen3 --base-url http://127.0.0.1:11434/v1 -k 3
  stoke test pdf --model openai/gpt-5 --price 1.25/10 --max-cost 0.50 --against last-good
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

function parseAmount(value: string): number {
  const amount = Number(value)
  if (!(amount > 0)) throw new InvalidArgumentError(`${JSON.stringify(value)} is not an amount above 0`)
  return amount
}

function parsePrice(value: string): TokenPrice {
  const [input = Number.NaN, output = Number.NaN, ...rest] = value.split('/').map(Number)
  if (!(input >= 0 && output >= 0) || rest.length > 0)
    throw new InvalidArgumentError(
      `${JSON.stringify(value)} is not of the form INPUT/OUTPUT; use for example 3/15`,
    )
  return { input, output }
}
