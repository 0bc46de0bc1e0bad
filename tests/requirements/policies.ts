import type { Requirement } from './requirement.ts'

/** How one system supports all five designs where they contradict each other. */
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
      'Duplicates inside one source are sorted lexicographically by path, and then the rule for duplicates applies. `SKILL.md` beats `skill.md` in one directory.',
  },
  {
    id: 'P03',
    kind: 'policy',
    behaviour:
      'A change names its facets: `frontmatter`, `body`, `files`, `scripts`, `location`. `modifiedOn` selects the facets that emit `skill:modified` (default: any). The prompt is rebuilt only if its text differs.',
  },
  {
    id: 'P04',
    kind: 'policy',
    behaviour:
      '`triggers` combines watch, poll, access, request, manual and after a write. Local sources default to watch, access and manual. Remote sources default to poll every 300 seconds and manual. Custom file systems default to request and manual.',
  },
  {
    id: 'P05',
    kind: 'policy',
    behaviour:
      'The delivery of a session is `append` (default), `rebuild`, `silent` or `pinned`. Tools and commands resolve names when they are called. The presets `exo`, `rustfox` and `pai` use `rebuild`.',
  },
  {
    id: 'P06',
    kind: 'policy',
    behaviour:
      'Effects have a fixed order: commit, tools, commands, instructions, events, MCP. Every handler sees the new registry.',
  },
  {
    id: 'P07',
    kind: 'policy',
    behaviour:
      '`onInvalid` is `keep-last-good` (default), `drop` or `throw`, always with a diagnostic and a retry at the next change. A skill that was never valid is not served and is shown as broken.',
  },
  {
    id: 'P08',
    kind: 'policy',
    behaviour:
      '`onMissing` of `directory()` is `wait` (default), `throw` or `empty`. A root that is created later is followed. A root that disappears counts as empty after 5 seconds. A source that fails keeps its contents.',
  },
  {
    id: 'P09',
    kind: 'policy',
    behaviour:
      '`reading.names` is `lenient` (default), `strict` or `any`. `names` of `writer()` is `strict` (default) or `lenient`, with a custom pattern and reserved words. Every mode refuses unsafe path segments.',
  },
  {
    id: 'P10',
    kind: 'policy',
    behaviour:
      'A skill is identified by its frontmatter name, or else by its directory. A lookup tries the id, the directory alias, and then the disk. `reading.matchDirectory` is `warn` (default), `error` or `off`.',
  },
  {
    id: 'P11',
    kind: 'policy',
    behaviour:
      '`description` is `required` (default), `empty` or `first-heading`. With `required`, a skill without a description is skipped with a diagnostic.',
  },
  {
    id: 'P12',
    kind: 'policy',
    behaviour:
      '`layout` sets file names (`SKILL.md`, `skill.md`), root skill (on), single `.md` files (off), depth (6), nesting (on) and skipped names. `_*` is skipped only at the top level, and a hidden root is scanned.',
  },
  {
    id: 'P13',
    kind: 'policy',
    behaviour:
      'Sources are explicit by default. `fromAllowedPaths` expands allowed paths into ordinary sources at every scan, where extra directories rank below the primary one.',
  },
  {
    id: 'P14',
    kind: 'policy',
    behaviour:
      'One YAML parser reads all frontmatter. Plain scalars with a colon, BOM, CRLF, no body and `---` in values are valid. `allowed-tools` is a list or a string, and unknown keys go to `extra`.',
  },
  {
    id: 'P15',
    kind: 'policy',
    behaviour:
      '`catalog.format` is `agentskills-xml` (default), `pai-xml`, `markdown`, a function or `none`. The text is escaped, sorted by name and limited by a budget. The preset `pai` uses `pai-xml`.',
  },
  {
    id: 'P16',
    kind: 'policy',
    behaviour:
      'The catalog is plain text that is combined with the base instructions (default). `instructionsBuilder` receives active skills. `withLiveSystem` affects a single call and never stored messages.',
  },
  {
    id: 'P17',
    kind: 'policy',
    behaviour:
      'Tools come in packs that the host selects: skill, author, command and admin tools. Schemas are constant, and a skill name is a plain string. `skill` and `activate_skill` share one handler.',
  },
  {
    id: 'P18',
    kind: 'policy',
    behaviour:
      'A scope is a list of names for an agent, and an empty list means unrestricted (default). It applies to catalog, lists, loads, search, slash, tools, commands and resources. Disabled skills are unreachable everywhere.',
  },
  {
    id: 'P19',
    kind: 'policy',
    behaviour:
      'One parser refuses unsafe paths by component, so `notes..md` is valid. The opened file is verified to be inside the root. `symlinks` is `within-root` (default), `follow` or `deny`.',
  },
  {
    id: 'P20',
    kind: 'policy',
    behaviour:
      'A write is atomic, goes only to the first writable source, and may carry a `baseDigest`. `afterWrite` is `reload` or `none`, and an explicit `reload_skills` afterwards is harmless.',
  },
  {
    id: 'P21',
    kind: 'policy',
    behaviour:
      '`reload()` covers all sources and returns revision, count, added, modified, removed and errors. `reload(name)` returns `reloaded`, `loaded`, `not_found` or `failed`. Success is reported only when it is true.',
  },
  {
    id: 'P22',
    kind: 'policy',
    behaviour:
      'A changed set of path, size, times and inode triggers a check, and the content hash decides (default). The mode `mtime` compares only modification times.',
  },
  {
    id: 'P23',
    kind: 'policy',
    behaviour:
      'Each revision of the code of a skill has its own child process, which must pass a check before it takes over, and which ends after its last call. Running calls keep the old code. Commands are cleared by exact owner.',
  },
  {
    id: 'P24',
    kind: 'policy',
    behaviour:
      'Files settle before they are read (20 ms, 80 ms in a burst, at most 2 s, and 500 ms for `LocalFileWatcher`). Within 1,000 ms, MCP notifies of the first and the last change. No last change of a burst is dropped.',
  },
  {
    id: 'P25',
    kind: 'policy',
    behaviour:
      'A failing watcher is retried after 1 second, doubling to 60 seconds with jitter, and from 1 second again after a successful scan. A restart scans everything again and compares with the kept snapshot.',
  },
  {
    id: 'P26',
    kind: 'policy',
    behaviour:
      'Each subscriber (bus, builder, resolver, agent, MCP) is isolated. Its failure is logged, its time is limited (30 seconds), and the others continue.',
  },
  {
    id: 'P27',
    kind: 'policy',
    behaviour:
      'Tools are counted per agent, name and owner, and tools of the agent itself are never changed. Binding replays the current set. `unbind` is `remove` (default) or `keep` (preset `exo`).',
  },
  {
    id: 'P28',
    kind: 'policy',
    behaviour:
      '`get` throws a `SkillNotFoundError` with the available names, `find` returns undefined, and `lookup` returns exact, matches or none. An unknown tool named like a skill is answered with a hint.',
  },
  {
    id: 'P29',
    kind: 'policy',
    behaviour:
      'Slash expansion is on by default. The longest known name up to whitespace or the end counts, and the rest is the arguments (optionally `$ARGUMENTS`). Other messages stay unchanged, and built-in commands of the host win.',
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
      '`preScan` may be sync or async, never runs twice at once and has a time limit. Its `onError` is `warn` (default) or `throw`.',
  },
  {
    id: 'P32',
    kind: 'policy',
    behaviour:
      'A git source keeps its own mirror and never prompts. It has a time limit, safe cache paths and a detected default branch. `update` is `ff-only` (default), which warns and keeps the contents if a fast-forward is impossible, or `reset`.',
  },
  {
    id: 'P33',
    kind: 'policy',
    behaviour:
      'Readers see one immutable generation, never wait, and never see a mixture. Commits go through one queue.',
  },
  {
    id: 'P34',
    kind: 'policy',
    behaviour:
      'Events are `skill:added`, `skill:modified` (with old, new and the changed facets), `skill:removed`, `skill:shadowed`, `skill:error`, `skills:batch` and `skills:reloaded`. Events of `@skillstoke/compat` have the fields `old_skill` and `new_skill` as aliases.',
  },
  {
    id: 'P35',
    kind: 'policy',
    behaviour:
      'Each source has a `trust`: `auto` (default for directories that the user or host named) or `review` (default for remote, discovered or agent-written skills). `review` holds a change until it is approved.',
  },
] as const satisfies readonly Requirement[]
