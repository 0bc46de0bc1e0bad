import type { ClientProfile } from './finding-table.ts'

/** What a client does with the fields of a skill. */
export interface ClientFacts {
  readonly title: string
  /** When the source was read. */
  readonly readOn: string
  /** Where the facts come from. */
  readonly origin: string
  /** Fields that change something in the client. */
  readonly reads: readonly string[]
  /** Whether `disable-model-invocation` and `user-invocable` have an effect. */
  readonly restricts: readonly string[]
  /** Whether the client replaces `$ARGUMENTS` and runs inline commands. @default false */
  readonly replacesArguments?: boolean
  /** The longest description in characters. A longer one makes the client drop the skill. */
  readonly maxDescription?: number
  /** Whether a name other than the name of the folder makes the client drop the skill. @default false */
  readonly needsFolderName?: boolean
  /** Whether frontmatter that is not valid YAML makes the client drop the skill. @default false */
  readonly needsYaml?: boolean
  /** Whether a skill without fields is dropped. @default true */
  readonly needsFields?: boolean
}

const COMMON = ['name', 'description']
/** Fields that a client may ignore without any loss for the user. */
export const SILENT_FIELDS: readonly string[] = ['license', 'compatibility', 'metadata']

/** The facts of each client. Without a newer date, a check says after 180 days that they may be outdated. */
export const CLIENTS: Readonly<Record<ClientProfile, ClientFacts>> = {
  'claude-code': {
    title: 'Claude Code',
    readOn: '2026-08-22',
    origin: 'the change log of anthropics/claude-code up to 2.1.240, code.claude.com/docs/en/skills',
    reads: [
      ...COMMON,
      ...['when_to_use', 'argument-hint', 'arguments', 'disable-model-invocation', 'user-invocable'],
      ...[
        'allowed-tools',
        'disallowed-tools',
        'model',
        'effort',
        'context',
        'agent',
        'hooks',
        'paths',
        'shell',
      ],
      ...['display-name', 'default-enabled', 'fallback'],
    ],
    restricts: ['disable-model-invocation', 'user-invocable'],
    replacesArguments: true,
    needsFields: false,
  },
  codex: {
    title: 'Codex',
    readOn: '2026-11-25',
    origin: 'openai/codex core-skills/src/loader.rs, developers.openai.com/codex/skills',
    reads: COMMON,
    restricts: [],
    maxDescription: 1024,
    needsYaml: true,
  },
  cursor: {
    title: 'Cursor',
    readOn: '2026-11-25',
    origin: 'cursor.com/docs/skills as quoted in agentskills/agentskills#102; the least certain row',
    reads: [...COMMON, 'disable-model-invocation'],
    restricts: ['disable-model-invocation'],
  },
  vscode: {
    title: 'VS Code and Copilot',
    readOn: '2026-11-25',
    origin: 'microsoft/vscode promptFileAttributes.ts',
    reads: [...COMMON, 'argument-hint', 'user-invocable', 'disable-model-invocation', 'context'],
    restricts: ['disable-model-invocation', 'user-invocable'],
    needsFolderName: true,
  },
  gemini: {
    title: 'Gemini CLI',
    readOn: '2026-11-25',
    origin: 'google-gemini/gemini-cli skillLoader.ts',
    reads: COMMON,
    restricts: [],
  },
  opencode: {
    title: 'opencode',
    readOn: '2026-11-25',
    origin: 'anomalyco/opencode skill/index.ts (v1), anomalyco/opencode#34498',
    reads: COMMON,
    restricts: [],
    needsYaml: true,
  },
}

/** Days after which the facts of a client may be outdated. */
export const MAX_FACT_AGE_DAYS = 180

/** Characters of description and `when_to_use` that Claude Code lists. */
export const MAX_LISTING = 1536

/** Tools of Claude Code, read on 2026-08-22. */
export const CLAUDE_TOOLS: readonly string[] = [
  ...[
    'Agent',
    'AskUserQuestion',
    'Bash',
    'BashOutput',
    'Edit',
    'EnterPlanMode',
    'ExitPlanMode',
    'Glob',
    'Grep',
  ],
  ...[
    'KillBash',
    'KillShell',
    'LS',
    'ListMcpResourcesTool',
    'LSP',
    'MultiEdit',
    'NotebookEdit',
    'NotebookRead',
  ],
  ...[
    'PowerShell',
    'Read',
    'ReadMcpResourceTool',
    'SendMessage',
    'Skill',
    'SlashCommand',
    'Task',
    'TaskCreate',
  ],
  ...['TaskGet', 'TaskList', 'TaskOutput', 'TaskStop', 'TaskUpdate', 'TeamCreate', 'TeamDelete', 'TodoRead'],
  ...['TodoWrite', 'ToolSearch', 'WebFetch', 'WebSearch', 'Write'],
]

/** Fields that Skillstoke or a client defines. A field with a name near to one of these is probably misspelt. */
export const KNOWN_FIELDS: readonly string[] = [
  ...new Set([...Object.values(CLIENTS).flatMap(({ reads }) => reads), ...SILENT_FIELDS]),
  ...[
    'version',
    'author',
    'tags',
    'triggers',
    'displayName',
    'homepage',
    'category',
    'icon',
    'internal',
    'keywords',
    'type',
  ],
]
