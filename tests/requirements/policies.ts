import type { Requirement } from './requirement.ts'

/** How one system covers all five designs where they contradict each other. */
export const POLICIES = [
  {
    id: 'P01',
    kind: 'policy',
    behaviour:
      '`onDuplicate` is `first-wins` (default), `last-wins`, `error` or a function, over the order of sources. `skill:shadowed` names both paths, and removing the winner promotes the next copy as `modified`.',
  },
  {
    id: 'P02',
    kind: 'policy',
    behaviour:
      'Duplicates inside one source are taken in lexicographic order of their paths and then by the rule for duplicates; `SKILL.md` beats `skill.md` in one directory.',
  },
  {
    id: 'P03',
    kind: 'policy',
    behaviour:
      'A change names its facets: `frontmatter`, `body`, `files`, `scripts`, `location`. `modifiedOn` says which emit `skill:modified` (default: any), and the prompt is rebuilt only if its text differs.',
  },
  {
    id: 'P04',
    kind: 'policy',
    behaviour:
      '`triggers` combines watch, poll, access, request, manual and after a write. Default: local watch, access and manual; remote poll every 300 seconds and manual; custom file systems request and manual.',
  },
  {
    id: 'P05',
    kind: 'policy',
    behaviour:
      'The delivery of a session is `append` (default), `rebuild`, `silent` or `pinned`; tools and commands resolve names when called. Presets `exo`, `rustfox` and `pai` use `rebuild`.',
  },
  {
    id: 'P06',
    kind: 'policy',
    behaviour:
      'Effects come in a fixed order: commit, tools, commands, instructions, events, MCP; every handler sees the new registry.',
  },
  {
    id: 'P07',
    kind: 'policy',
    behaviour:
      '`onInvalid` is `keep-last-good` (default), `drop` or `throw`, always with a diagnostic and a retry at the next change; a skill that was never good is absent and shown as broken.',
  },
  {
    id: 'P08',
    kind: 'policy',
    behaviour:
      '`onSourceMissing` is `wait` (default), `throw` or `empty`. A root created later is picked up, one that vanishes counts as empty after 5 seconds, and a source that fails keeps its contents.',
  },
  {
    id: 'P09',
    kind: 'policy',
    behaviour:
      '`names.read` is `lenient` (default), `strict` or `any`; `names.write` is `strict` (default) or `lenient`, with a custom pattern and reserved words. Every mode refuses unsafe path segments.',
  },
  {
    id: 'P10',
    kind: 'policy',
    behaviour:
      'A skill is known by its frontmatter name, else by its directory; lookup tries id, directory alias, then the disk. `names.matchDirectory` is `warn` (default), `error` or `off`.',
  },
  {
    id: 'P11',
    kind: 'policy',
    behaviour:
      '`description` is `required` (default: without one the skill is skipped with a diagnostic), `empty` or `first-heading`.',
  },
  {
    id: 'P12',
    kind: 'policy',
    behaviour:
      '`layout` sets file names (`SKILL.md`, `skill.md`), root skill (on), single `.md` files (off), depth (6), nesting (on) and what is skipped; `_*` is skipped at the top only, and a hidden root is scanned.',
  },
  {
    id: 'P13',
    kind: 'policy',
    behaviour:
      'Sources are explicit by default; `fromAllowedPaths` expands allowed paths into ordinary sources at every scan, where extra directories rank below the primary one.',
  },
  {
    id: 'P14',
    kind: 'policy',
    behaviour:
      'One YAML parser reads all frontmatter: plain scalars with a colon, BOM, CRLF, no body and `---` in values are valid, `allowed-tools` is a list or a string, and unknown keys go to `extra`.',
  },
  {
    id: 'P15',
    kind: 'policy',
    behaviour:
      '`catalog.format` is `agentskills-xml` (default), `pai-xml`, `markdown`, a function or `none`; text is escaped, sorted by name and kept to a budget. Preset `pai` gives `pai-xml`.',
  },
  {
    id: 'P16',
    kind: 'policy',
    behaviour:
      'The catalogue is plain text that is composed with the base instructions (default); `instructionsBuilder` receives active skills, and `withLiveSystem` affects a single call and never stored messages.',
  },
  {
    id: 'P17',
    kind: 'policy',
    behaviour:
      'Tools come in packs that the host picks: skill, author, command and admin tools. Schemas are constant, a skill name is a plain string, and `skill` and `activate_skill` share one handler.',
  },
  {
    id: 'P18',
    kind: 'policy',
    behaviour:
      'A scope is a list of names for an agent, empty means unrestricted (default). It holds for catalogue, lists, loads, search, slash, tools, commands and resources; disabled skills are unreachable everywhere.',
  },
  {
    id: 'P19',
    kind: 'policy',
    behaviour:
      'One parser refuses unsafe paths by component, so `notes..md` is legal, and the file opened is verified to be inside. `symlinks` is `within-root` (default), `follow` or `deny`.',
  },
  {
    id: 'P20',
    kind: 'policy',
    behaviour:
      'A write is atomic, goes to the first writable source only and may carry a `baseHash`. `afterWrite` is `reload` or `none`, and an explicit `reload_skills` afterwards is harmless.',
  },
  {
    id: 'P21',
    kind: 'policy',
    behaviour:
      '`reload()` covers all sources and returns revision, count, added, modified, removed and errors; `reload(name)` returns `reloaded`, `loaded`, `not_found` or `failed`, and success is claimed only when true.',
  },
  {
    id: 'P22',
    kind: 'policy',
    behaviour:
      'A different set of path, size, times and inode triggers, and the content hash decides (default); the mode `mtime` compares modification times only.',
  },
  {
    id: 'P23',
    kind: 'policy',
    behaviour:
      'Each revision of the code of a skill has its own child process, which must pass a check before it takes over and ends after its last call; running calls keep the old code, and commands are cleared by exact owner.',
  },
  {
    id: 'P24',
    kind: 'policy',
    behaviour:
      'Files settle before they are read (20 ms, 80 ms in a burst, 2 s at most; `LocalFileWatcher` 500 ms), MCP notifies first and last within 1,000 ms, and no trailing change is dropped.',
  },
  {
    id: 'P25',
    kind: 'policy',
    behaviour:
      'A failing watcher is retried after 1 second, doubling to 60 with jitter, from 1 again after a successful scan; a restart rescans everything against the kept snapshot.',
  },
  {
    id: 'P26',
    kind: 'policy',
    behaviour:
      'Each subscriber (bus, builder, resolver, agent, MCP) is isolated: its failure is logged, its time is limited (30 seconds), and the others go on.',
  },
  {
    id: 'P27',
    kind: 'policy',
    behaviour:
      'Tools are counted per agent, name and owner, and tools of the agent itself are never touched. Binding replays the current set; `unbind` is `remove` (default) or `keep` (preset `exo`).',
  },
  {
    id: 'P28',
    kind: 'policy',
    behaviour:
      '`get` throws a `SkillNotFoundError` with the available names, `find` gives undefined, `lookup` gives exact, matches or none; an unknown tool named like a skill is answered with a hint.',
  },
  {
    id: 'P29',
    kind: 'policy',
    behaviour:
      'Slash expansion is on by default: the longest known name up to whitespace or the end counts, the rest is the arguments (optionally `$ARGUMENTS`), anything else is unchanged, and built-ins of the host win.',
  },
  {
    id: 'P30',
    kind: 'policy',
    behaviour:
      '`allowedTools` is `advise` (default, shown in the metadata), `ignore`, or `enforce` while a skill is active.',
  },
  {
    id: 'P31',
    kind: 'policy',
    behaviour:
      '`preScan` may be sync or async, never runs twice at once and has a time limit; its `onError` is `warn` (default) or `throw`.',
  },
  {
    id: 'P32',
    kind: 'policy',
    behaviour:
      'A git source keeps its own mirror, without prompts, with a time limit, safe cache paths and the default branch detected. `update` is `ff-only` (default: otherwise it warns and keeps the contents) or `reset`.',
  },
  {
    id: 'P33',
    kind: 'policy',
    behaviour:
      'Readers see one immutable generation and never wait or see a mixture; commits go through one queue.',
  },
  {
    id: 'P34',
    kind: 'policy',
    behaviour:
      'Events are `skill:added`, `skill:modified` (with old, new and what changed), `skill:removed`, `skill:shadowed`, `skill:error`, `skills:batch` and `skills:reloaded`; names in snake_case are available as aliases.',
  },
  {
    id: 'P35',
    kind: 'policy',
    behaviour:
      'Each source has `trust`: `auto` (default for directories that the user or host named) or `review` (default for remote, discovered or agent-written skills), which holds a change until it is approved.',
  },
] as const satisfies readonly Requirement[]
