import type { Requirement } from './requirement.ts'

/** Exo: skills of long-running agents are reloaded while they run. */
export const EXO = [
  {
    id: 'EXO-01',
    kind: 'described',
    behaviour:
      'A long-running agent uses added, changed and removed skills without a restart. Loading everything once with `loadAll` still works.',
  },
  {
    id: 'EXO-02',
    kind: 'described',
    behaviour:
      'Changes of a local source are found immediately. A remote source (GitHub) is polled at intervals.',
  },
  {
    id: 'EXO-03',
    kind: 'described',
    behaviour:
      'A change reaches an agent during a run. The tools are listed again for each step, so the next step has the new tools.',
  },
  {
    id: 'EXO-04',
    kind: 'described',
    behaviour:
      'Any kind of source can implement its own change detection through one small watcher interface.',
  },
  {
    id: 'EXO-05',
    kind: 'described',
    behaviour:
      'Every change is published on an event bus, where logs, metrics and user interfaces can observe it.',
  },
  {
    id: 'EXO-06',
    kind: 'described',
    behaviour:
      'The existing registry calls keep their meaning: `registerSource`, `loadAll`, `get`, `search`, `listNames`, `skills` and the conflict strategies.',
  },
  {
    id: 'EXO-07',
    kind: 'described',
    behaviour:
      'Applying skill changes to agents reloads no code modules, and needs neither versions nor rollback. The caller supplies the mapping from skills to tools, so nothing is guessed.',
  },
  {
    id: 'EXO-08',
    kind: 'described',
    behaviour:
      'The manager applies each batch of a watcher to the registry, then to the tools of every bound agent, then to instructions and events. The agent sees the result at its next step.',
  },
  {
    id: 'EXO-09',
    kind: 'described',
    behaviour:
      'The abstractions are in the core. The two concrete watchers are exported by their own entry point, which depends on the core.',
  },
  {
    id: 'EXO-10',
    kind: 'described',
    behaviour:
      'A `SkillChangeEvent` has `kind`, `skillName`, `skill` and `sourcePath`. `skill` is null only for `removed`, and writing to the event throws.',
  },
  {
    id: 'EXO-11',
    kind: 'described',
    behaviour:
      '`watch()` is an async iterable that yields batches. One batch contains the changes of one settled burst of file events, or of one poll.',
  },
  {
    id: 'EXO-12',
    kind: 'described',
    behaviour: '`stop()` shuts a watcher down, and its `watch()` then returns.',
  },
  {
    id: 'EXO-13',
    kind: 'described',
    behaviour:
      'Each watcher sets its own polling interval or debounce time, and the abstract base class cannot be instantiated.',
  },
  {
    id: 'EXO-14',
    kind: 'described',
    behaviour:
      'A tool resolver is any object with a method `resolve(skill)` that returns a list of tools. Code can check at run time whether an object is a tool resolver.',
  },
  {
    id: 'EXO-15',
    kind: 'described',
    behaviour:
      '`DictToolResolver` maps a skill name to one tool or several. A single tool is returned as a list of one, and an unknown skill returns an empty list.',
  },
  {
    id: 'EXO-16',
    kind: 'described',
    behaviour:
      '`SkillSyncManager` takes a registry, and either a resolver or a plain map. The manager wraps a plain map in a resolver. An event bus and an instructions builder are optional.',
  },
  {
    id: 'EXO-17',
    kind: 'described',
    behaviour:
      '`addWatcher` must be called before `start()`. Only watchers that were added before the start run.',
  },
  {
    id: 'EXO-18',
    kind: 'described',
    behaviour:
      'After `bindAgent`, changes reach the agent until `unbindAgent`. Unbinding an agent that is not bound does nothing.',
  },
  {
    id: 'EXO-19',
    kind: 'described',
    behaviour:
      '`start()` runs every watcher in its own background task. `stop()` stops the watchers, cancels their tasks and waits for the cleanup.',
  },
  {
    id: 'EXO-20',
    kind: 'described',
    behaviour:
      'The manager can be used as a resource in a block. Entering the block returns the manager without starting it, and leaving the block stops it.',
  },
  {
    id: 'EXO-21',
    kind: 'described',
    behaviour:
      'The manager stores its watchers, the bound agents, one task per watcher, the tool names added for each skill, its resolver, and the optional bus and builder.',
  },
  {
    id: 'EXO-22',
    kind: 'described',
    behaviour:
      'An added skill enters the registry. Its tools are resolved, added to every bound agent and recorded by name. `skill:added` is emitted.',
  },
  {
    id: 'EXO-23',
    kind: 'described',
    behaviour:
      'When a skill is modified, its recorded tools are removed, its new tools are added and its registry entry is replaced. `skill:modified` is emitted.',
  },
  {
    id: 'EXO-24',
    kind: 'described',
    behaviour:
      'When a skill is removed, its recorded tools and its registry entry are removed. `skill:removed` is emitted.',
  },
  {
    id: 'EXO-25',
    kind: 'described',
    behaviour:
      'If a builder is set, the manager builds the instructions again from the active skills after each batch, and assigns them to every bound agent.',
  },
  {
    id: 'EXO-26',
    kind: 'described',
    behaviour: 'An exception from a watcher is caught and logged, and the manager continues.',
  },
  {
    id: 'EXO-27',
    kind: 'described',
    behaviour:
      'A failing `addTool` or `removeTool` is caught and logged. The other tools and the other agents still get their changes.',
  },
  {
    id: 'EXO-28',
    kind: 'described',
    behaviour:
      'After a watcher fails, the manager waits with exponential backoff and then calls `watch()` again.',
  },
  {
    id: 'EXO-29',
    kind: 'described',
    behaviour:
      '`LocalFileWatcher` takes a path and `debounceMs` (500 by default). It watches the directory and everything below it.',
  },
  {
    id: 'EXO-30',
    kind: 'described',
    behaviour: '`LocalFileWatcher` reacts only to files named `skill.md` or `SKILL.md`.',
  },
  {
    id: 'EXO-31',
    kind: 'described',
    behaviour:
      '`LocalFileWatcher` stores the skills by name. At each change the watcher reads the frontmatter again and compares it with the stored skills. The watcher updates the stored skills and yields the differences as one batch.',
  },
  {
    id: 'EXO-32',
    kind: 'described',
    behaviour: '`stop()` on a `LocalFileWatcher` ends its watching loop.',
  },
  {
    id: 'EXO-33',
    kind: 'described',
    behaviour:
      '`GitHubPollingWatcher` takes a source URL, a poll interval (300 seconds by default) and an optional cache directory.',
  },
  {
    id: 'EXO-34',
    kind: 'described',
    behaviour: '`GitHubPollingWatcher` first parses the GitHub URL and makes a local copy of the repository.',
  },
  {
    id: 'EXO-35',
    kind: 'described',
    behaviour:
      'Each poll updates the local copy with an asynchronous git process and accepts only a fast-forward.',
  },
  {
    id: 'EXO-36',
    kind: 'described',
    behaviour: 'Each poll compares the skills before and after the update, and reports the differences.',
  },
  {
    id: 'EXO-37',
    kind: 'described',
    behaviour: 'A poll without changes yields no batch.',
  },
  {
    id: 'EXO-38',
    kind: 'described',
    behaviour: '`stop()` on a `GitHubPollingWatcher` takes effect between two polls.',
  },
  {
    id: 'EXO-39',
    kind: 'described',
    behaviour:
      'The optional bus receives `skill:added {skill}`, `skill:modified {oldSkill, newSkill}` and `skill:removed {skill}`. Publishers and subscribers do not need to know each other.',
  },
  {
    id: 'EXO-40',
    kind: 'described',
    behaviour:
      'Subscribers of the bus can log every change, count additions, removals and modifications, and notify a dashboard.',
  },
  {
    id: 'EXO-41',
    kind: 'described',
    behaviour:
      'Inside the block of a manager, a host can add a watcher, bind an agent, call `start()` and then run the agent.',
  },
  {
    id: 'EXO-42',
    kind: 'described',
    behaviour:
      'Several watchers run side by side, such as a local directory and a GitHub tree URL with a poll interval of 600 seconds.',
  },
  {
    id: 'EXO-43',
    kind: 'described',
    behaviour:
      'A builder can write a header line, and for each skill `- **name**: description` and the first line of the body.',
  },
  {
    id: 'EXO-44',
    kind: 'described',
    behaviour:
      'Tests cover the watcher contract, the resolvers, the manager and both watchers, for successes and failures. The tests use fakes and temporary directories, but no network.',
  },
  {
    id: 'EXO-45',
    kind: 'described',
    behaviour:
      'The documentation has a manual smoke test: start an agent with a local watcher, edit a skill file, and see the agent use the edit.',
  },
  {
    id: 'EXO-X01',
    kind: 'beyond',
    behaviour:
      "The conflict strategy is `keep_first` (default), `keep_last` or `raise`, also as a plain string. `raise` reports `Duplicate skill '<name>' (conflict_strategy=raise)`.",
  },
  {
    id: 'EXO-X02',
    kind: 'beyond',
    behaviour:
      'A skill of the Exo shape has name, description, usage, tool list (name to actions), type (empty for a tool, or `agent`), an active flag (true by default) and a path.',
  },
  {
    id: 'EXO-X03',
    kind: 'beyond',
    behaviour:
      'Frontmatter keys are case-insensitive, `desc` means `description`, and an invalid `tool_list` counts as empty. The name falls back to the folder, and text without closed frontmatter is all body.',
    declined: 'docs/decisions/2026-11-22-beyond-the-documents.md',
  },
  {
    id: 'EXO-X04',
    kind: 'beyond',
    behaviour:
      '`loadAll` starts with an empty registry and finds `skill.md` and `SKILL.md` at any depth. A missing source directory and an unknown name given to `get` throw a `SkillError`. `skills` is a copy.',
  },
  {
    id: 'EXO-X05',
    kind: 'beyond',
    behaviour:
      '`search({query, skillType, activeOnly})` finds the query in names or descriptions, ignores case, and can filter by type and active flag.',
  },
  {
    id: 'EXO-X06',
    kind: 'beyond',
    behaviour:
      'GitHub URLs may be http or https and may name a branch (default `main`) and a subdirectory. The cache is kept per owner, repository and branch. A missing subdirectory is an error.',
  },
  {
    id: 'EXO-X07',
    kind: 'beyond',
    behaviour:
      'An agent with a registry lists active skills in its prompt and gets `activate_skill`. This tool returns the body and adds missing tools. An unknown name returns a structured error with the available skills.',
    declined: 'docs/decisions/2026-11-22-beyond-the-documents.md',
  },
  {
    id: 'EXO-X08',
    kind: 'beyond',
    behaviour:
      'A skill is modified if its name, description, body, tool list, type or active flag differs. A new path alone does not count as a change.',
    declined: 'docs/decisions/2026-11-22-beyond-the-documents.md',
  },
  {
    id: 'EXO-X09',
    kind: 'beyond',
    behaviour:
      'A batch lists added, then removed, then modified skills, each sorted by name. If files change but all skills stay the same, no batch is yielded.',
  },
  {
    id: 'EXO-X10',
    kind: 'beyond',
    behaviour:
      'Backoff starts at 1 second and doubles up to 60 seconds. When `watch()` ends normally, the manager does not call it again.',
  },
  {
    id: 'EXO-X11',
    kind: 'beyond',
    behaviour:
      'An invalid GitHub URL throws a `SkillError` in the constructor. A failed update is logged with exit code and error output. If git cannot be run, this is also logged, and polling continues.',
  },
  {
    id: 'EXO-X12',
    kind: 'beyond',
    behaviour:
      'If the removal event of a watcher contains no skill, `skill:removed` carries the last skill that the registry knew. Bus handlers run one after the other in the order of registration.',
  },
  {
    id: 'EXO-B01',
    kind: 'mistake',
    behaviour:
      'If a bus handler, resolver or builder throws an error, the rest of the batch is still applied, no change is lost, and the watcher does not count as failed.',
  },
  {
    id: 'EXO-B02',
    kind: 'mistake',
    behaviour:
      'After the failure of a watcher, the known skills are kept, so changes during the backoff are reported after the restart.',
  },
  {
    id: 'EXO-B03',
    kind: 'mistake',
    behaviour: 'The backoff returns to its first value after a success.',
  },
  {
    id: 'EXO-B04',
    kind: 'mistake',
    behaviour:
      'Removing a skill removes only tools that were added for this skill. Tools that belong to the agent stay, and a tool shared by two skills stays until both skills are removed.',
  },
  {
    id: 'EXO-B05',
    kind: 'mistake',
    behaviour:
      'Skills that `loadAll` loaded before the start are also tracked, so their first modification replaces their tools without duplicates.',
  },
  {
    id: 'EXO-B06',
    kind: 'mistake',
    behaviour:
      'An agent that is bound late receives the tools of the existing skills, and unbinding can remove these tools again. Binding or unbinding during a batch is safe.',
  },
  {
    id: 'EXO-B07',
    kind: 'mistake',
    behaviour:
      'The conflict strategy also applies to changes from watchers. Removing the winning copy of a skill makes the shadowed copy visible.',
  },
  {
    id: 'EXO-B08',
    kind: 'mistake',
    behaviour:
      'The builder receives only active skills. The text from the builder is added to the base instructions of the agent and does not replace these instructions.',
  },
  {
    id: 'EXO-B09',
    kind: 'mistake',
    behaviour:
      'If one skill file is unreadable or badly encoded, the other skills stay loaded and the watcher keeps running. The watcher waits for a missing directory without repeated failures.',
  },
  {
    id: 'EXO-B10',
    kind: 'mistake',
    behaviour:
      '`.git`, hidden directories and `node_modules` are not scanned. `SKILL.md` wins over `skill.md` in one directory. Quoted and multi-line YAML values are read correctly.',
  },
  {
    id: 'EXO-B11',
    kind: 'mistake',
    behaviour:
      'Branches with `/`, a `.git` suffix, other default branches and force-pushed branches are handled. `..` in a cache path is refused. Git runs with a time limit and never asks for credentials.',
  },
  {
    id: 'EXO-B12',
    kind: 'mistake',
    behaviour:
      'A watcher can be started again after `stop()`. A skill that moves without other changes is reported.',
  },
  {
    id: 'EXO-B13',
    kind: 'mistake',
    behaviour: 'The order of effects is the same everywhere: registry, tools, instructions, then events.',
  },
] as const satisfies readonly Requirement[]
