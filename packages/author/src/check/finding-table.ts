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

/**
 * The checks of this package. To add a check, add a row here and a rule in `rules/`. The page of the checks, the codes, the
 * profiles and the tests of the examples follow from this table.
 */
export const CHECKS: Readonly<Record<CheckCode, CheckRow>> = {
  FRONTMATTER_TWICE: {
    severity: 'warning',
    fix: 'offer',
    means: 'A second block of fields follows the first one, and models read it as instructions.',
    bad: body('---\nname: vat\ndescription: Reports VAT.\n---\n\nAdd up.', {}, 'two blocks of fields'),
    good: body('Add up.', {}, 'one block of fields'),
  },
  FIELD_MISSPELT: {
    severity: 'warning',
    fix: 'none',
    means: 'The name of a field differs by one or two letters, or by its case, from a known field.',
    bad: field('user_invocable: false'),
    good: field('user-invocable: false'),
  },
  DESCRIPTION_NO_TRIGGER: {
    severity: 'warning',
    fix: 'none',
    means: 'The description says what the skill does, but not when to use it. A model then has to guess.',
    bad: describes('Creates VAT reports from a folder of invoices.'),
    good: describes('Creates VAT reports from a folder of invoices. Use when a quarter ends.'),
  },
  DESCRIPTION_TOO_SHORT: {
    severity: 'warning',
    fix: 'none',
    means: 'The description has fewer than 40 characters. A CJK character counts as three.',
    bad: describes('Use for tax rules'),
    good: describes('Looks up tax rates by country. Use when an invoice crosses a border.'),
  },
  DESCRIPTION_REPEATS_NAME: {
    severity: 'warning',
    fix: 'none',
    means: 'The description has no word beyond the name of the skill and filler words.',
    bad: describes('Use this skill when you are working with a VAT report.'),
    good: describes('Adds up the taxes of invoices. Use when working with a VAT report.'),
  },
  DESCRIPTION_ROLE_PROMPT: {
    severity: 'warning',
    fix: 'none',
    means: 'The description is a system prompt. A model chooses a skill by what it does and when.',
    bad: describes('You are a tax expert who helps when invoices must be checked.'),
    good: describes('Checks the taxes of invoices. Use when invoices must be checked.'),
  },
  DESCRIPTION_ENDS_ABRUPTLY: {
    severity: 'warning',
    fix: 'none',
    means: 'A program seems to have cut the description.',
    bad: describes('Creates VAT reports when a quarter ends, with plans, scripts, and'),
    good: describes('Creates VAT reports when a quarter ends, with plans and scripts.'),
  },
  DESCRIPTION_PLACEHOLDER: {
    severity: 'warning',
    fix: 'none',
    means: 'The description is text of a template, or contains an argument that nothing replaces.',
    bad: describes('Replace with a description of the skill and when to use it.'),
    good: describes('Creates VAT reports from invoices. Use when a quarter ends.'),
  },
  FILE_MISSING: {
    severity: 'warning',
    fix: 'offer',
    means: 'The text names a file of the skill that does not exist.',
    bad: body('See `references/rates.md` for the rates.'),
    good: body(
      'See `references/rates.md` for the rates.',
      RATES,
      '`references/rates.md`, and the file exists',
    ),
  },
  LINK_DEAD: {
    severity: 'warning',
    fix: 'offer',
    means: 'A link in SKILL.md leads to a file that does not exist.',
    bad: body('Read [the rates](reference/rates.md).', RATES),
    good: body('Read [the rates](references/rates.md).', RATES),
  },
  REFERENCE_LINK_DEAD: {
    severity: 'warning',
    fix: 'offer',
    means: 'A link in another file of the skill leads to a file that does not exist.',
    bad: body(
      'Read [the rates](references/rates.md).',
      { 'references/rates.md': 'See [all](laws/all.md).\n', 'assets/laws/all.md': 'Laws.\n' },
      'references/rates.md: [all](laws/all.md)',
    ),
    good: body(
      'Read [the rates](references/rates.md).',
      { 'references/rates.md': 'See [all](../assets/laws/all.md).\n', 'assets/laws/all.md': 'Laws.\n' },
      'references/rates.md: [all](../assets/laws/all.md)',
    ),
  },
  LINK_CASE: {
    severity: 'warning',
    fix: 'auto',
    means: 'The file exists in another case, or the path has backslashes. It is not found on every system.',
    bad: body('Read [the rates](References\\Rates.md).', RATES),
    good: body('Read [the rates](references/rates.md).', RATES),
  },
  LINK_ESCAPES: {
    severity: 'info',
    fix: 'none',
    means:
      'The text names an existing file outside of the skill. The file is lost where the skill is installed alone.',
    bad: body('Read [the tool](../tools/sum.md).'),
    good: body('Read [the rates](references/rates.md).', RATES),
  },
  PATH_PERSONAL: {
    severity: 'warning',
    fix: 'none',
    means: 'The text has a path in the home folder of one person.',
    bad: body('The invoices are in /home/mara/invoices.'),
    good: body('The invoices are in $INVOICES.'),
  },
  OWN_PATH_FIXED: {
    severity: 'warning',
    fix: 'offer',
    means: 'The skill names its own files by the folder into which one client installs skills.',
    bad: body('Run `bash ~/.claude/skills/vat-report/scripts/sum.sh`.', { 'scripts/sum.sh': 'echo 1\n' }),
    good: body('Run `bash scripts/sum.sh`.', { 'scripts/sum.sh': 'echo 1\n' }),
  },
  FENCE_UNBALANCED: {
    severity: 'warning',
    fix: 'offer',
    means:
      'Code fences do not pair: one is never closed, or a fence with a language stands inside another one.',
    bad: body('```md\n```js\nsum()\n```\n```', {}, 'three backticks inside of three'),
    good: body('````md\n```js\nsum()\n```\n````', {}, 'three backticks inside of four'),
  },
  TEMPLATE_LEFT: {
    severity: 'warning',
    fix: 'none',
    means: 'A line of a template for skills was never replaced.',
    bad: body('# Insert instructions below'),
    good: body(BODY),
  },
  BODY_TOO_MANY_TOKENS: {
    severity: 'info',
    fix: 'none',
    means: 'The instructions have more than 5,000 tokens, which every load costs.',
    bad: body('Add up the taxes again. '.repeat(1100), {}, 'instructions of 6,600 tokens'),
    good: body('Read [the rates](references/rates.md).', RATES, 'details in files below references/'),
  },
  SECRET_FOUND: {
    severity: 'warning',
    fix: 'none',
    means: 'A file has a key of a known service, or a private key. The finding blocks "stoke fleet publish".',
    bad: file('scripts/run.py', `TOKEN = '${MADE_UP_KEY}'\n`, 'a token in scripts/run.py'),
    good: file('scripts/run.py', "import os\nTOKEN = os.environ['TOKEN']\n", "os.environ['TOKEN']"),
  },
  FILE_TEMPORARY: {
    severity: 'info',
    fix: 'none',
    means: 'A file that an editor, a system or a cache left behind is under version control.',
  },
  FILE_TOO_LARGE: {
    severity: 'info',
    fix: 'none',
    means: 'A file has more than 1 MiB.',
    bad: file('assets/form.svg', 'x'.repeat(1024 * 1024 + 1), 'a picture of 3 MB'),
    good: file('assets/form.svg', '<svg/>', 'a picture of 30 kB'),
  },
  FILE_UNUSED: {
    severity: 'info',
    fix: 'none',
    means: 'No text of the skill names the file or its folder, so a model reads it only by chance.',
    bad: body('Add up.', RATES, 'references/rates.md, which no text names'),
    good: body('For rates, read `references/rates.md`.', RATES),
  },
  SHEBANG_CRLF: {
    severity: 'warning',
    fix: 'auto',
    means:
      'The first line of a script ends with CR LF, so the system looks for a program whose name ends with CR.',
    bad: file('scripts/a.sh', '#!/bin/sh\r\necho 1\n', '#!/bin/sh, then CR LF'),
    good: file('scripts/a.sh', '#!/bin/sh\necho 1\n', '#!/bin/sh, then LF'),
  },
  SCRIPT_NOT_EXECUTABLE: {
    severity: 'info',
    fix: 'none',
    means: 'An example starts a script directly, but the file is not executable.',
    bad: body('```sh\nscripts/a.sh --all\n```', { 'scripts/a.sh': 'echo 1\n' }, 'scripts/a.sh --all'),
    good: body(
      '```sh\nbash scripts/a.sh --all\n```',
      { 'scripts/a.sh': 'echo 1\n' },
      'bash scripts/a.sh --all',
    ),
  },
  SCRIPT_DEPENDENCY_UNSTATED: {
    severity: 'info',
    fix: 'none',
    means: 'A Python script imports a package that no text of the skill names.',
    bad: file('scripts/a.py', 'import lxml\n'),
    good: body('Needs `lxml`. Run `scripts/a.py`.', { 'scripts/a.py': 'import lxml\n' }, 'Needs `lxml`.'),
  },
  TOOLS_FORM: {
    severity: 'warning',
    fix: 'none',
    means: 'An entry of "allowed-tools" has a form that no client understands.',
    bad: field('allowed-tools: Bash(git:*'),
    good: field('allowed-tools: Bash(git:*)'),
  },
  TESTS_INVALID: {
    severity: 'warning',
    fix: 'none',
    means: 'A test in the folder evals/ cannot be read, so "stoke test" leaves it out.',
    bad: body(BODY, { 'evals/tests.yaml': 'fires: 5\n' }, 'evals/tests.yaml: fires: 5'),
    good: body(BODY, { 'evals/tests.yaml': 'fires: [Add up my taxes]\n' }, 'fires: [Add up my taxes]'),
  },
  WORD_MIXED_SCRIPT: {
    severity: 'warning',
    fix: 'none',
    means: 'One word has Latin and Cyrillic letters, which look alike and are not found by a search.',
    bad: body('Then p\u0430y the tax.', {}, '"p\u0430y" with a Cyrillic letter'),
    good: body('Then pay the tax.'),
  },
  DESCRIPTION_SIMILAR: {
    severity: 'warning',
    fix: 'none',
    means:
      'The description or the body is nearly that of another skill, so a model cannot choose between the two.',
  },
  CATALOG_TOO_LARGE: {
    severity: 'info',
    fix: 'none',
    means: 'Names and descriptions need more than 4,000 tokens. Clients then shorten or drop some of them.',
  },
  IGNORE_UNUSED: {
    severity: 'info',
    fix: 'none',
    means: 'A comment "stoke-ignore" silences nothing.',
    bad: body('<!-- stoke-ignore LINK_DEAD: moves next week -->\nAdd up.'),
    good: body(BODY),
  },
  CLIENT_NOT_LOADED: {
    severity: 'off',
    profiles: CLIENT_PROFILES,
    fix: 'none',
    means: 'The client does not load the skill.',
    bad: {
      ...describes(`Creates VAT reports when a quarter ends. ${'Adds up. '.repeat(120)}`),
      shown: '1,100 characters for codex',
    },
    good: describes('Creates VAT reports when a quarter ends.'),
  },
  CLIENT_RESTRICTION_LOST: {
    severity: 'off',
    profiles: ['codex', 'gemini', 'opencode', 'cursor'],
    fix: 'none',
    means: 'A field that limits who may start the skill has no effect in the client.',
    bad: field('disable-model-invocation: true'),
    good: field('license: MIT'),
  },
  CLIENT_FIELD_IGNORED: {
    severity: 'off',
    profiles: CLIENT_PROFILES,
    profileSeverity: 'info',
    fix: 'none',
    means: 'The client does not read a field that changes what other clients do.',
    bad: field('effort: low'),
    good: field('license: MIT'),
  },
  CLIENT_SYNTAX: {
    severity: 'off',
    profiles: ['codex', 'cursor', 'vscode', 'gemini', 'opencode'],
    fix: 'none',
    means: 'The client shows an argument or an inline command to the model as it is written.',
    bad: body('Review $ARGUMENTS.'),
    good: body('Review what the user names.'),
  },
  CLIENT_DATA_OLD: {
    severity: 'off',
    profiles: CLIENT_PROFILES,
    profileSeverity: 'info',
    fix: 'none',
    means: 'What is known about the client is older than 180 days.',
  },
  LISTING_CUT: {
    severity: 'off',
    profiles: ['claude-code'],
    fix: 'none',
    means: 'The client cuts the description and "when_to_use" after 1,536 characters.',
    bad: {
      ...describes(`Creates VAT reports when a quarter ends. ${'Adds up. '.repeat(200)}`),
      shown: '1,800 characters',
    },
    good: describes('Creates VAT reports when a quarter ends.'),
  },
  TOOLS_UNKNOWN: {
    severity: 'off',
    profiles: ['claude-code'],
    profileSeverity: 'info',
    fix: 'none',
    means: 'The client has no tool of this name.',
    bad: field('allowed-tools: Rea'),
    good: field('allowed-tools: Read'),
  },
  TOOLS_COMMA: {
    severity: 'off',
    profiles: ['spec'],
    fix: 'none',
    means: 'Commas separate the tools. The specification separates them with spaces.',
    bad: field('allowed-tools: Read, Grep'),
    good: field('allowed-tools: Read Grep'),
  },
  NAME_RESERVED: {
    severity: 'off',
    profiles: ['claude-ai'],
    fix: 'none',
    means: 'The name contains a word that the upload refuses.',
    bad: named('claude-vat'),
    good: named('vat-report'),
  },
  DESCRIPTION_MARKUP: {
    severity: 'off',
    profiles: ['claude-ai'],
    fix: 'none',
    means: 'The description has angle brackets, which the upload refuses.',
    bad: describes('Creates <b>VAT</b> reports. Use when a quarter ends.'),
    good: describes('Creates VAT reports. Use when a quarter ends.'),
  },
  TOOLS_BASH_ALL: {
    severity: 'off',
    profiles: ['review'],
    profileSeverity: 'info',
    fix: 'none',
    means: 'The skill asks to run every command without a question.',
    bad: field('allowed-tools: Bash'),
    good: field('allowed-tools: Bash(git:*)'),
  },
  SCRIPT_NETWORK: {
    severity: 'off',
    profiles: ['review'],
    profileSeverity: 'info',
    fix: 'none',
    means: 'A script mentions the network.',
    bad: file('scripts/a.py', 'import requests\n'),
    good: file('scripts/a.py', 'print(1)\n'),
  },
  PIPE_TO_SHELL: {
    severity: 'off',
    profiles: ['review'],
    profileSeverity: 'info',
    fix: 'none',
    means: 'A command runs what it downloads.',
    bad: body('`curl https://example.com/x | sh`'),
    good: body('`curl https://example.com/x -o x`'),
  },
  FILE_ARCHIVE: {
    severity: 'off',
    profiles: ['review'],
    profileSeverity: 'info',
    fix: 'none',
    means: 'The skill has an archive, whose contents no check reads.',
    bad: file('assets/a.zip', 'PK', 'assets/a.zip'),
    good: file('assets/a.txt', 'text', 'assets/a.txt'),
  },
  FILE_EXECUTABLE_BINARY: {
    severity: 'off',
    profiles: ['review'],
    profileSeverity: 'info',
    fix: 'none',
    means: 'The skill has a compiled program.',
    bad: file('scripts/a.exe', 'MZ\0', 'scripts/a.exe'),
    good: file('scripts/a.sh', 'echo 1\n', 'scripts/a.sh'),
  },
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
