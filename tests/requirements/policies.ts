import type { Requirement } from './requirement.ts'

/** Policies: how this project supports all five designs where the designs contradict each other. */
export const POLICIES = [
  {
    id: 'P01',
    kind: 'policy',
    behaviour:
      '`onDuplicate` is `first-wins` (default), `last-wins`, `error` or a function, and applies to the order of sources. `skill:shadowed` names both paths. If the winner is removed, the next copy is served and reported as `modified`.',
  },
  {
    id: 'P02',
    kind: 'policy',
    behaviour:
      'Of duplicates inside one source, the folder nearer to the root comes first, then the folder that is called like its skill, then the first path. Then `onDuplicate` applies. `SKILL.md` beats `skill.md` in one directory.',
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
      '`triggers` is any combination of watch, poll, access, request, manual and after a write. Local sources default to watch, access and manual. Remote sources default to poll every 300 seconds and manual. Custom file systems default to request and manual.',
  },
  {
    id: 'P05',
    kind: 'policy',
    behaviour:
      'The delivery of a session is `append` (default), `rebuild`, `silent` or `pinned`. Tools and commands look up skill names at each call. The presets `exo`, `rustfox` and `pai` use `rebuild`.',
  },
  {
    id: 'P06',
    kind: 'policy',
    behaviour:
      'The effects of an update have a fixed order: commit, tools, commands, instructions, events, MCP. Every handler sees the new registry.',
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
      '`onMissing` of `directory()` is `wait` (default), `throw` or `empty`. A root that is created later is watched. A root that disappears counts as empty after 5 seconds. If a source fails, its skills stay.',
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
      'A skill is identified by its frontmatter name, or else by its directory. A lookup tries this id, then the directory name, and then the disk. `reading.matchDirectory` is `warn` (default), `error` or `off`.',
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
      'By default, the host lists its sources. `fromAllowedPaths` turns allowed paths into ordinary sources at every scan. Extra directories rank below the primary directory.',
  },
  {
    id: 'P14',
    kind: 'policy',
    behaviour:
      'One YAML parser reads all frontmatter. Plain scalars with a colon, BOM, CRLF, an empty body and `---` in values are valid. `allowed-tools` is a list or a string, and unknown keys go to `extra`. Text fields keep the spelling of the file.',
  },
  {
    id: 'P15',
    kind: 'policy',
    behaviour:
      '`catalog.format` is `agentskills-tool-xml` (default; `agentskills-xml` adds locations), `pai-xml`, `markdown`, `lines` (used over MCP), a function or `none`. The text is escaped, sorted by name and limited by a budget. The preset `pai` uses `pai-xml`.',
  },
  {
    id: 'P16',
    kind: 'policy',
    behaviour:
      'The catalog is plain text that is combined with the base instructions (default). `instructionsBuilder` receives active skills. `withLiveSystem` affects only a single call, and never changes stored messages.',
  },
  {
    id: 'P17',
    kind: 'policy',
    behaviour:
      'The host selects packs of tools: skill, author, command and admin tools. Schemas never change. In a schema, a skill name is a plain string. `skill` and `activate_skill` share one handler.',
  },
  {
    id: 'P18',
    kind: 'policy',
    behaviour:
      'A scope lists the skills of an agent, and an empty list means all skills (default). The scope applies to catalog, lists, loads, search, slash commands, tools, commands and resources. Disabled skills cannot be reached anywhere.',
  },
  {
    id: 'P19',
    kind: 'policy',
    behaviour:
      'One parser checks each component of a path, so `..` is refused and `notes..md` is valid. An opened file must be inside the root. `symlinks` is `within-root` (default), `follow` or `deny`.',
  },
  {
    id: 'P20',
    kind: 'policy',
    behaviour:
      'A write is atomic, goes only to the first writable source, and may carry a `baseDigest`. `afterWrite` is `reload` or `none`, and an explicit `reload_skills` after the write is harmless.',
  },
  {
    id: 'P21',
    kind: 'policy',
    behaviour:
      '`reload()` reads all sources and returns revision, count, added, modified, removed and errors. `reload(name)` returns `reloaded`, `loaded`, `not_found` or `failed`. Success is reported only if the reload succeeded.',
  },
  {
    id: 'P22',
    kind: 'policy',
    behaviour:
      'By default, a new path, size, time or inode triggers a check, and the content hash decides whether a file changed. The mode `mtime` compares only modification times.',
  },
  {
    id: 'P23',
    kind: 'policy',
    behaviour:
      'Each revision of code has its own child process. The process must load the code before it gets calls, and ends after its last call. Running calls keep the old code. Commands are cleared for exactly one skill.',
  },
  {
    id: 'P24',
    kind: 'policy',
    behaviour:
      'Files settle before they are read (20 ms, 80 ms in a burst, at most 2 s, and 500 ms for `LocalFileWatcher`). Of all changes within 1,000 ms, the first and the last cause an MCP notification. The last change of a burst is always delivered.',
  },
  {
    id: 'P25',
    kind: 'policy',
    behaviour:
      'A failing watcher is retried after 1 second. The delay doubles up to 60 seconds with jitter, and returns to 1 second after a successful scan. A restarted watcher scans everything and compares the result with the stored snapshot.',
  },
  {
    id: 'P26',
    kind: 'policy',
    behaviour:
      'Each subscriber (bus, builder, resolver, agent, MCP) is isolated. If a subscriber fails or exceeds 30 seconds, this is logged and the other subscribers continue.',
  },
  {
    id: 'P27',
    kind: 'policy',
    behaviour:
      'Added tools are counted per agent, name and owner, and tools that belong to the agent are never changed. Binding an agent adds the current tools. `unbind` is `remove` (default) or `keep` (preset `exo`).',
  },
  {
    id: 'P28',
    kind: 'policy',
    behaviour:
      '`get` throws a `SkillNotFoundError` with the available names, `find` returns undefined, and `lookup` returns exact, matches or none. If a model calls an unknown tool that has the name of a skill, the answer contains a hint.',
  },
  {
    id: 'P29',
    kind: 'policy',
    behaviour:
      'Slash expansion is on by default. The longest known name that ends at whitespace or at the end of the message is used. The rest of the message becomes the arguments (optionally `$ARGUMENTS`), equal for typed and named arguments. Other messages stay unchanged, and built-in commands of the host have priority.',
  },
  {
    id: 'P30',
    kind: 'policy',
    behaviour:
      '`allowedTools` is `advise` (default, shown in the metadata), `ignore`, or `enforce` while a skill is active. `enforce` also refuses the tools in `disallowed-tools`.',
  },
  {
    id: 'P31',
    kind: 'policy',
    behaviour:
      '`preScan` may be synchronous or asynchronous, has a time limit, and never runs twice at the same time. Its `onError` is `warn` (default) or `throw`.',
  },
  {
    id: 'P32',
    kind: 'policy',
    behaviour:
      'A git source keeps its own mirror and never prompts. It has a time limit, uses safe cache paths and detects the default branch. `update` is `ff-only` (default) or `reset`. With `ff-only`, a rewritten history causes a warning, and the old contents stay.',
  },
  {
    id: 'P33',
    kind: 'policy',
    behaviour:
      'Readers never wait. Each reader sees one immutable generation, never a mixture. Updates of the registry go through one queue.',
  },
  {
    id: 'P34',
    kind: 'policy',
    behaviour:
      'Events are `skill:added`, `skill:modified` (with the old skill, the new skill and the changed facets), `skill:removed`, `skill:shadowed`, `skill:error`, `skills:batch` and `skills:reloaded`. Events of `@skillstoke/compat` have the fields `old_skill` and `new_skill` as aliases.',
  },
  {
    id: 'P35',
    kind: 'policy',
    behaviour:
      'Each source has a `trust`: `auto` (default for directories that the user or host named) or `review` (default for remote, discovered or agent-written skills). With `review`, a change waits until it is approved.',
  },
] as const satisfies readonly Requirement[]
