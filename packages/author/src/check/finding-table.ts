import type { Diagnostic, DiagnosticCode } from '@skillstoke/core'

export type Severity = Diagnostic['severity']

/** Clients for whose rules a skill can be checked. */
export const CLIENT_PROFILES = ['claude-code', 'codex', 'cursor', 'vscode', 'gemini', 'opencode'] as const
/**
 * What a skill is checked for in addition: a client, the strict specification, an upload to Claude.ai, or a review of
 * somebody else's skill.
 */
export const PROFILES: readonly (ClientProfile | 'spec' | 'claude-ai' | 'review')[] = [
  ...CLIENT_PROFILES,
  'spec',
  'claude-ai',
  'review',
]

export type ClientProfile = (typeof CLIENT_PROFILES)[number]
export type Profile = (typeof PROFILES)[number]

/** Codes of the checks of this package. Codes that decide what is served belong to the core. */
export type CheckCode =
  | 'FRONTMATTER_TWICE'
  | 'FIELD_MISSPELT'
  | 'DESCRIPTION_NO_TRIGGER'
  | 'DESCRIPTION_TOO_SHORT'
  | 'DESCRIPTION_REPEATS_NAME'
  | 'DESCRIPTION_ROLE_PROMPT'
  | 'DESCRIPTION_ENDS_ABRUPTLY'
  | 'DESCRIPTION_PLACEHOLDER'
  | 'FILE_MISSING'
  | 'LINK_DEAD'
  | 'REFERENCE_LINK_DEAD'
  | 'LINK_CASE'
  | 'LINK_ESCAPES'
  | 'PATH_PERSONAL'
  | 'OWN_PATH_FIXED'
  | 'FENCE_UNBALANCED'
  | 'TEMPLATE_LEFT'
  | 'BODY_TOO_MANY_TOKENS'
  | 'SECRET_FOUND'
  | 'FILE_TEMPORARY'
  | 'FILE_TOO_LARGE'
  | 'FILE_UNUSED'
  | 'SHEBANG_CRLF'
  | 'SCRIPT_NOT_EXECUTABLE'
  | 'SCRIPT_DEPENDENCY_UNSTATED'
  | 'TOOLS_FORM'
  | 'TESTS_INVALID'
  | 'WORD_MIXED_SCRIPT'
  | 'DESCRIPTION_SIMILAR'
  | 'CATALOG_TOO_LARGE'
  | 'IGNORE_UNUSED'
  | 'CLIENT_NOT_LOADED'
  | 'CLIENT_RESTRICTION_LOST'
  | 'CLIENT_FIELD_IGNORED'
  | 'CLIENT_SYNTAX'
  | 'CLIENT_DATA_OLD'
  | 'LISTING_CUT'
  | 'TOOLS_UNKNOWN'
  | 'TOOLS_COMMA'
  | 'NAME_RESERVED'
  | 'DESCRIPTION_MARKUP'
  | 'TOOLS_BASH_ALL'
  | 'SCRIPT_NETWORK'
  | 'PIPE_TO_SHELL'
  | 'FILE_ARCHIVE'
  | 'FILE_EXECUTABLE_BINARY'

export type FindingCode = DiagnosticCode | CheckCode

/** A skill that shows what a check finds. */
export interface Example {
  /** The part that a page shows. */
  readonly shown: string
  /** SKILL.md and other files of a skill called `vat-report`. */
  readonly files: Readonly<Record<string, string>>
}

/** What is known about a code. */
export interface CheckRow {
  /** `off`: only a profile or a configuration turns the check on. */
  readonly severity: Severity | 'off'
  /** Profiles that turn the check on. @default all, if `severity` is not `off` */
  readonly profiles?: readonly Profile[]
  /** Severity in these profiles. @default 'warning' */
  readonly profileSeverity?: Severity
  /** The edit that a finding may have. */
  readonly fix: 'auto' | 'offer' | 'none'
  readonly means: string
  readonly bad?: Example
  readonly good?: Example
}

const NAME = 'name: vat-report'
const DESCRIPTION = 'description: Creates VAT reports from invoices. Use when a quarter ends.'
const BODY = 'Read the invoices, then add up the taxes.'

function write(fields: readonly string[], body: string): string {
  return ['---', ...fields, '---', '', body, ''].join('\n')
}

/** An example with another description. */
function describes(text: string): Example {
  const line = `description: ${text}`
  return { shown: line, files: { 'SKILL.md': write([NAME, line], BODY) } }
}

/** An example with one more field. */
function field(line: string): Example {
  return { shown: line, files: { 'SKILL.md': write([NAME, DESCRIPTION, line], BODY) } }
}

/** An example with another name. */
function named(name: string): Example {
  return { shown: `name: ${name}`, files: { 'SKILL.md': write([`name: ${name}`, DESCRIPTION], BODY) } }
}

/** An example with another body, and other files. */
function body(text: string, files: Readonly<Record<string, string>> = {}, shown = text): Example {
  return { shown, files: { 'SKILL.md': write([NAME, DESCRIPTION], text), ...files } }
}

/** An example with one more file, which the body names. */
function file(path: string, text: string, shown = `${path}: ${text.trim()}`): Example {
  return body(`Run \`${path}\` first.`, { [path]: text }, shown)
}

/** In two parts, so that nobody takes this file for a leak. */
const MADE_UP_KEY = ['ghp', 'kT9wQz3LmX7vRb2NpY5hJc8DfG4sKa6WeU1Z'].join('_')

const RATES = { 'references/rates.md': 'Rates by country.\n' }

/** A check that is on by default, as a warning. */
function warns(means: string, bad?: Example, good?: Example): CheckRow {
  return { severity: 'warning', fix: 'none', means, ...(bad && good && { bad, good }) }
}

/** A warning whose edit a person may apply. */
function offers(means: string, bad: Example, good: Example): CheckRow {
  return { ...warns(means, bad, good), fix: 'offer' }
}

/** A warning whose edit changes no served text. */
function corrects(means: string, bad: Example, good: Example): CheckRow {
  return { ...warns(means, bad, good), fix: 'auto' }
}

/** A check that is on by default, as a remark. */
function tells(means: string, bad?: Example, good?: Example): CheckRow {
  return { ...warns(means, bad, good), severity: 'info' }
}

/** A check that only profiles turn on, as a warning. */
function forProfiles(profiles: readonly Profile[], means: string, bad?: Example, good?: Example): CheckRow {
  return { ...warns(means, bad, good), severity: 'off', profiles }
}

/** A check that only profiles turn on, as a remark. */
function tellsProfiles(profiles: readonly Profile[], means: string, bad?: Example, good?: Example): CheckRow {
  return { ...forProfiles(profiles, means, bad, good), profileSeverity: 'info' }
}

/**
 * The checks of this package. To add a check, add a row here and a rule in `rules/`. The page of the checks, the codes, the
 * profiles and the tests of the examples follow from this table.
 */
export const CHECKS: Readonly<Record<CheckCode, CheckRow>> = {
  FRONTMATTER_TWICE: offers(
    'A second block of fields follows the first one, and models read it as instructions.',
    body('---\nname: vat\ndescription: Reports VAT.\n---\n\nAdd up.', {}, 'two blocks of fields'),
    body('Add up.', {}, 'one block of fields'),
  ),
  FIELD_MISSPELT: warns(
    'The name of a field differs by one or two letters, or by its case, from a known field.',
    field('user_invocable: false'),
    field('user-invocable: false'),
  ),
  DESCRIPTION_NO_TRIGGER: warns(
    'The description says what the skill does, but not when to use it. A model then has to guess.',
    describes('Creates VAT reports from a folder of invoices.'),
    describes('Creates VAT reports from a folder of invoices. Use when a quarter ends.'),
  ),
  DESCRIPTION_TOO_SHORT: warns(
    'The description has fewer than 40 characters. A CJK character counts as three.',
    describes('Use for tax rules'),
    describes('Looks up tax rates by country. Use when an invoice crosses a border.'),
  ),
  DESCRIPTION_REPEATS_NAME: warns(
    'The description has no word beyond the name of the skill and filler words.',
    describes('Use this skill when you are working with a VAT report.'),
    describes('Adds up the taxes of invoices. Use when working with a VAT report.'),
  ),
  DESCRIPTION_ROLE_PROMPT: warns(
    'The description is a system prompt. A model chooses a skill by what it does and when.',
    describes('You are a tax expert who helps when invoices must be checked.'),
    describes('Checks the taxes of invoices. Use when invoices must be checked.'),
  ),
  DESCRIPTION_ENDS_ABRUPTLY: warns(
    'A program seems to have cut the description.',
    describes('Creates VAT reports when a quarter ends, with plans, scripts, and'),
    describes('Creates VAT reports when a quarter ends, with plans and scripts.'),
  ),
  DESCRIPTION_PLACEHOLDER: warns(
    'The description is text of a template, or contains an argument that nothing replaces.',
    describes('Replace with a description of the skill and when to use it.'),
    describes('Creates VAT reports from invoices. Use when a quarter ends.'),
  ),
  FILE_MISSING: offers(
    'The text names a file of the skill that does not exist.',
    body('See `references/rates.md` for the rates.'),
    body('See `references/rates.md` for the rates.', RATES, '`references/rates.md`, and the file exists'),
  ),
  LINK_DEAD: offers(
    'A link in SKILL.md leads to a file that does not exist.',
    body('Read [the rates](reference/rates.md).', RATES),
    body('Read [the rates](references/rates.md).', RATES),
  ),
  REFERENCE_LINK_DEAD: offers(
    'A link in another file of the skill leads to a file that does not exist.',
    body(
      'Read [the rates](references/rates.md).',
      { 'references/rates.md': 'See [all](laws/all.md).\n', 'assets/laws/all.md': 'Laws.\n' },
      'references/rates.md: [all](laws/all.md)',
    ),
    body(
      'Read [the rates](references/rates.md).',
      { 'references/rates.md': 'See [all](../assets/laws/all.md).\n', 'assets/laws/all.md': 'Laws.\n' },
      'references/rates.md: [all](../assets/laws/all.md)',
    ),
  ),
  LINK_CASE: corrects(
    'The file exists in another case, or the path has backslashes. It is not found on every system.',
    body('Read [the rates](References\\Rates.md).', RATES),
    body('Read [the rates](references/rates.md).', RATES),
  ),
  LINK_ESCAPES: tells(
    'The text names an existing file outside of the skill. The file is lost where the skill is installed alone.',
    body('Read [the tool](../tools/sum.md).'),
    body('Read [the rates](references/rates.md).', RATES),
  ),
  PATH_PERSONAL: warns(
    'The text has a path in the home folder of one person.',
    body('The invoices are in /home/mara/invoices.'),
    body('The invoices are in $INVOICES.'),
  ),
  OWN_PATH_FIXED: offers(
    'The skill names its own files by the folder into which one client installs skills.',
    body('Run `bash ~/.claude/skills/vat-report/scripts/sum.sh`.', { 'scripts/sum.sh': 'echo 1\n' }),
    body('Run `bash scripts/sum.sh`.', { 'scripts/sum.sh': 'echo 1\n' }),
  ),
  FENCE_UNBALANCED: offers(
    'Code fences do not pair: one is never closed, or a fence with a language stands inside another one.',
    body('```md\n```js\nsum()\n```\n```', {}, 'three backticks inside of three'),
    body('````md\n```js\nsum()\n```\n````', {}, 'three backticks inside of four'),
  ),
  TEMPLATE_LEFT: warns(
    'A line of a template for skills was never replaced.',
    body('# Insert instructions below'),
    body(BODY),
  ),
  BODY_TOO_MANY_TOKENS: tells(
    'The instructions have more than 5,000 tokens, which every load costs.',
    body('Add up the taxes again. '.repeat(1100), {}, 'instructions of 6,600 tokens'),
    body('Read [the rates](references/rates.md).', RATES, 'details in files below references/'),
  ),
  SECRET_FOUND: warns(
    'A file has a key of a known service, or a private key. The finding blocks "stoke fleet publish".',
    file('scripts/run.py', `TOKEN = '${MADE_UP_KEY}'\n`, 'a token in scripts/run.py'),
    file('scripts/run.py', "import os\nTOKEN = os.environ['TOKEN']\n", "os.environ['TOKEN']"),
  ),
  FILE_TEMPORARY: tells('A file that an editor, a system or a cache left behind is under version control.'),
  FILE_TOO_LARGE: tells(
    'A file has more than 1 MiB.',
    file('assets/form.svg', 'x'.repeat(1024 * 1024 + 1), 'a picture of 3 MB'),
    file('assets/form.svg', '<svg/>', 'a picture of 30 kB'),
  ),
  FILE_UNUSED: tells(
    'No text of the skill names the file or its folder, so a model reads it only by chance.',
    body('Add up.', RATES, 'references/rates.md, which no text names'),
    body('For rates, read `references/rates.md`.', RATES),
  ),
  SHEBANG_CRLF: corrects(
    'The first line of a script ends with CR LF, so the system looks for a program whose name ends with CR.',
    file('scripts/a.sh', '#!/bin/sh\r\necho 1\n', '#!/bin/sh, then CR LF'),
    file('scripts/a.sh', '#!/bin/sh\necho 1\n', '#!/bin/sh, then LF'),
  ),
  SCRIPT_NOT_EXECUTABLE: tells(
    'An example starts a script directly, but the file is not executable.',
    body('```sh\nscripts/a.sh --all\n```', { 'scripts/a.sh': 'echo 1\n' }, 'scripts/a.sh --all'),
    body('```sh\nbash scripts/a.sh --all\n```', { 'scripts/a.sh': 'echo 1\n' }, 'bash scripts/a.sh --all'),
  ),
  SCRIPT_DEPENDENCY_UNSTATED: tells(
    'A Python script imports a package that no text of the skill names.',
    file('scripts/a.py', 'import lxml\n'),
    body('Needs `lxml`. Run `scripts/a.py`.', { 'scripts/a.py': 'import lxml\n' }, 'Needs `lxml`.'),
  ),
  TOOLS_FORM: warns(
    'An entry of "allowed-tools" has a form that no client understands.',
    field('allowed-tools: Bash(git:*'),
    field('allowed-tools: Bash(git:*)'),
  ),
  TESTS_INVALID: warns(
    'A test in the folder evals/ cannot be read, so "stoke test" leaves it out.',
    body(BODY, { 'evals/tests.yaml': 'fires: 5\n' }, 'evals/tests.yaml: fires: 5'),
    body(BODY, { 'evals/tests.yaml': 'fires: [Add up my taxes]\n' }, 'fires: [Add up my taxes]'),
  ),
  WORD_MIXED_SCRIPT: warns(
    'One word has Latin and Cyrillic letters, which look alike and are not found by a search.',
    body('Then p\u0430y the tax.', {}, '"p\u0430y" with a Cyrillic letter'),
    body('Then pay the tax.'),
  ),
  DESCRIPTION_SIMILAR: warns(
    'The description or the body is nearly that of another skill, so a model cannot choose between the two.',
  ),
  CATALOG_TOO_LARGE: tells(
    'Names and descriptions need more than 4,000 tokens. Clients then shorten or drop some of them.',
  ),
  IGNORE_UNUSED: tells(
    'A comment "stoke-ignore" silences nothing.',
    body('<!-- stoke-ignore LINK_DEAD: moves next week -->\nAdd up.'),
    body(BODY),
  ),
  CLIENT_NOT_LOADED: forProfiles(
    CLIENT_PROFILES,
    'The client does not load the skill.',
    {
      ...describes(`Creates VAT reports when a quarter ends. ${'Adds up. '.repeat(120)}`),
      shown: '1,100 characters for codex',
    },
    describes('Creates VAT reports when a quarter ends.'),
  ),
  CLIENT_RESTRICTION_LOST: forProfiles(
    ['codex', 'gemini', 'opencode', 'cursor'],
    'A field that limits who may start the skill has no effect in the client.',
    field('disable-model-invocation: true'),
    field('license: MIT'),
  ),
  CLIENT_FIELD_IGNORED: tellsProfiles(
    CLIENT_PROFILES,
    'The client does not read a field that changes what other clients do.',
    field('effort: low'),
    field('license: MIT'),
  ),
  CLIENT_SYNTAX: forProfiles(
    ['codex', 'cursor', 'vscode', 'gemini', 'opencode'],
    'The client shows an argument or an inline command to the model as it is written.',
    body('Review $ARGUMENTS.'),
    body('Review what the user names.'),
  ),
  CLIENT_DATA_OLD: tellsProfiles(CLIENT_PROFILES, 'What is known about the client is older than 180 days.'),
  LISTING_CUT: forProfiles(
    ['claude-code'],
    'The client cuts the description and "when_to_use" after 1,536 characters.',
    {
      ...describes(`Creates VAT reports when a quarter ends. ${'Adds up. '.repeat(200)}`),
      shown: '1,800 characters',
    },
    describes('Creates VAT reports when a quarter ends.'),
  ),
  TOOLS_UNKNOWN: tellsProfiles(
    ['claude-code'],
    'The client has no tool of this name.',
    field('allowed-tools: Rea'),
    field('allowed-tools: Read'),
  ),
  TOOLS_COMMA: forProfiles(
    ['spec'],
    'Commas separate the tools. The specification separates them with spaces.',
    field('allowed-tools: Read, Grep'),
    field('allowed-tools: Read Grep'),
  ),
  NAME_RESERVED: forProfiles(
    ['claude-ai'],
    'The name contains a word that the upload refuses.',
    named('claude-vat'),
    named('vat-report'),
  ),
  DESCRIPTION_MARKUP: forProfiles(
    ['claude-ai'],
    'The description has angle brackets, which the upload refuses.',
    describes('Creates <b>VAT</b> reports. Use when a quarter ends.'),
    describes('Creates VAT reports. Use when a quarter ends.'),
  ),
  TOOLS_BASH_ALL: tellsProfiles(
    ['review'],
    'The skill asks to run every command without a question.',
    field('allowed-tools: Bash'),
    field('allowed-tools: Bash(git:*)'),
  ),
  SCRIPT_NETWORK: tellsProfiles(
    ['review'],
    'A script mentions the network.',
    file('scripts/a.py', 'import requests\n'),
    file('scripts/a.py', 'print(1)\n'),
  ),
  PIPE_TO_SHELL: tellsProfiles(
    ['review'],
    'A command runs what it downloads.',
    body('`curl https://example.com/x | sh`'),
    body('`curl https://example.com/x -o x`'),
  ),
  FILE_ARCHIVE: tellsProfiles(
    ['review'],
    'The skill has an archive, whose contents no check reads.',
    file('assets/a.zip', 'PK', 'assets/a.zip'),
    file('assets/a.txt', 'text', 'assets/a.txt'),
  ),
  FILE_EXECUTABLE_BINARY: tellsProfiles(
    ['review'],
    'The skill has a compiled program.',
    file('scripts/a.exe', 'MZ\0', 'scripts/a.exe'),
    file('scripts/a.sh', 'echo 1\n', 'scripts/a.sh'),
  ),
}

/** Codes of the core that a check of a text treats in another way than the core reports them. */
const CORE_CHECKS: Partial<Record<DiagnosticCode, Partial<CheckRow>>> = {
  TEXT_BEFORE_FRONTMATTER: { fix: 'auto' },
  BYTE_ORDER_MARK: { fix: 'auto' },
  FRONTMATTER_MISSING: { fix: 'offer' },
  YAML_REPAIRED: { fix: 'auto' },
  VALUE_CUT_BY_COMMENT: { fix: 'offer' },
  VALUE_RETYPED: { fix: 'auto' },
  HIDDEN_TEXT: { fix: 'offer' },
  // Most clients have fields of their own. The strict profile reports them.
  FIELD_UNKNOWN: { severity: 'off', profiles: ['spec'], profileSeverity: 'error' },
}

/** Returns what is known about a code. The core decides the severity of its own codes. */
export function findCheck(code: FindingCode): Partial<CheckRow> {
  return code in CHECKS ? CHECKS[code as CheckCode] : (CORE_CHECKS[code as DiagnosticCode] ?? {})
}
