import type { Requirement } from './requirement.ts'

/** Exo: skills of long-running agents are reloaded while they run. */
export const EXO = [
  {
    id: 'EXO-01',
    kind: 'described',
    behaviour:
      'A long-running agent notices when skills appear, change or vanish, without a restart; loading everything once with `loadAll` still works.',
  },
  {
    id: 'EXO-02',
    kind: 'described',
    behaviour:
      'Changes of a local source are noticed as they happen; a remote source (GitHub) is checked at intervals.',
  },
  {
    id: 'EXO-03',
    kind: 'described',
    behaviour:
      'A change reaches an agent in the middle of a run: because the tools are listed anew for each step, the next step already has the new ones.',
  },
  {
    id: 'EXO-04',
    kind: 'described',
    behaviour:
      'Any kind of source can bring its own way of noticing changes, through one small watcher interface.',
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
      'Syncing skills to agents neither reloads code modules, nor guesses which tools implement a skill (the caller supplies the mapping), nor needs versions or rollback.',
  },
  {
    id: 'EXO-08',
    kind: 'described',
    behaviour:
      'A batch goes from watcher to manager to registry, then to the tools of every bound agent, then to the instructions and the events; the agent sees the result at its next step.',
  },
  {
    id: 'EXO-09',
    kind: 'described',
    behaviour:
      'The abstractions are in the core; the concrete watchers have an entry point of their own, which depends on the core and exports both of them.',
  },
  {
    id: 'EXO-10',
    kind: 'described',
    behaviour:
      'A `SkillChangeEvent` holds `kind`, `skillName`, `skill` and `sourcePath`; `skill` is null only for `removed`, and an attempt to alter the event throws.',
  },
  {
    id: 'EXO-11',
    kind: 'described',
    behaviour:
      '`watch()` is an async iterable of batches that waits between them; one batch is what one settled burst of file events, or one comparison of polls, has brought.',
  },
  {
    id: 'EXO-12',
    kind: 'described',
    behaviour: '`stop()` tells a watcher to shut down, and its `watch()` then returns.',
  },
  {
    id: 'EXO-13',
    kind: 'described',
    behaviour: 'Each watcher sets its own pace, and the abstract base class cannot be instantiated.',
  },
  {
    id: 'EXO-14',
    kind: 'described',
    behaviour:
      'A tool resolver is any object with `resolve(skill)` that returns a list of tools; whether an object is one can be checked at run time.',
  },
  {
    id: 'EXO-15',
    kind: 'described',
    behaviour:
      '`DictToolResolver` maps a skill name to one tool or several: a single tool is returned as a list of one, an unknown skill gives an empty list.',
  },
  {
    id: 'EXO-16',
    kind: 'described',
    behaviour:
      '`SkillSyncManager` takes a registry, a resolver or a plain map (which it wraps itself), and optionally an event bus and an instructions builder.',
  },
  {
    id: 'EXO-17',
    kind: 'described',
    behaviour: '`addWatcher` belongs before `start()`: the watchers added by then are the ones that run.',
  },
  {
    id: 'EXO-18',
    kind: 'described',
    behaviour:
      '`bindAgent` makes an agent follow the changes and `unbindAgent` ends that; unbinding an agent that is not bound does nothing.',
  },
  {
    id: 'EXO-19',
    kind: 'described',
    behaviour:
      '`start()` runs every watcher in a background task of its own; `stop()` stops the watchers, cancels their tasks and waits until all is cleaned up.',
  },
  {
    id: 'EXO-20',
    kind: 'described',
    behaviour:
      'The manager can own a block: entering gives the manager itself without starting it, leaving stops it.',
  },
  {
    id: 'EXO-21',
    kind: 'described',
    behaviour:
      'The manager keeps its watchers, a set of bound agents, one task per watcher, the tool names added for each skill, its resolver, and the bus and builder if given.',
  },
  {
    id: 'EXO-22',
    kind: 'described',
    behaviour:
      'An added skill enters the registry, its tools are resolved and added to every bound agent and remembered by name, and `skill:added` is emitted.',
  },
  {
    id: 'EXO-23',
    kind: 'described',
    behaviour:
      'A modified skill loses the tools remembered for it, gets its new ones, replaces its registry entry, and `skill:modified` is emitted.',
  },
  {
    id: 'EXO-24',
    kind: 'described',
    behaviour:
      'A removed skill loses the tools remembered for it, leaves the registry, and `skill:removed` is emitted.',
  },
  {
    id: 'EXO-25',
    kind: 'described',
    behaviour:
      'With a builder, the instructions of every bound agent are built from the active skills and assigned again after each batch.',
  },
  {
    id: 'EXO-26',
    kind: 'described',
    behaviour: 'An exception from a watcher is caught and logged, and the manager goes on working.',
  },
  {
    id: 'EXO-27',
    kind: 'described',
    behaviour:
      'A failing `addTool` or `removeTool` is caught and logged; the other tools and the other agents still get their changes.',
  },
  {
    id: 'EXO-28',
    kind: 'described',
    behaviour:
      'After a watcher fails, the manager waits for an exponentially growing time and then calls `watch()` again.',
  },
  {
    id: 'EXO-29',
    kind: 'described',
    behaviour:
      '`LocalFileWatcher` takes a path and `debounceMs` (500 by default) and watches the directory with everything below it.',
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
      '`LocalFileWatcher` remembers the skills by name; at each change it reads them again from their frontmatter, compares, updates what it remembers and yields the differences as one batch.',
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
    behaviour:
      '`GitHubPollingWatcher` begins by parsing the GitHub URL and making a local copy of the repository.',
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
    behaviour: 'A poll that finds nothing new yields nothing: there are no empty batches.',
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
      'The optional bus receives `skill:added {skill}`, `skill:modified {oldSkill, newSkill}` and `skill:removed {skill}`; publishers and subscribers need not know each other.',
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
      'Inside the block of a manager one can add a watcher, bind an agent, call `start()` and then run the agent.',
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
      'A builder can write a header line and then, for each skill, `- **name**: description` and the first line of its body.',
  },
  {
    id: 'EXO-44',
    kind: 'described',
    behaviour:
      'The watcher contract, resolvers, manager and both watchers are tested with fakes and temporary directories, for good and failing cases, and without a network.',
  },
  {
    id: 'EXO-45',
    kind: 'described',
    behaviour:
      'The documentation has a smoke test by hand: start an agent with a local watcher, edit a skill file, and see the agent pick it up.',
  },
  {
    id: 'EXO-X01',
    kind: 'beyond',
    behaviour:
      "The conflict strategy is `keep_first` (default), `keep_last` or `raise`, also given as a plain string; `raise` reports `Duplicate skill '<name>' (conflict_strategy=raise)`.",
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
      'Frontmatter keys are read without regard to case, `desc` means `description`, a bad `tool_list` counts as empty, the name falls back to the folder, and text without closed frontmatter is all body.',
    declined: 'docs/decisions/2026-11-22-beyond-the-documents.md',
  },
  {
    id: 'EXO-X04',
    kind: 'beyond',
    behaviour:
      '`loadAll` starts from nothing and finds `skill.md` and `SKILL.md` at any depth; a missing source directory and an unknown name given to `get` throw a `SkillError`; `skills` is a copy.',
  },
  {
    id: 'EXO-X05',
    kind: 'beyond',
    behaviour:
      '`search({query, skillType, activeOnly})` finds the query in names or descriptions without regard to case, narrowed by type and active flag.',
  },
  {
    id: 'EXO-X06',
    kind: 'beyond',
    behaviour:
      'GitHub URLs may be http or https and name a branch and subdirectory (default branch `main`); the cache is kept per owner, repository and branch, and a missing subdirectory is an error.',
  },
  {
    id: 'EXO-X07',
    kind: 'beyond',
    behaviour:
      'An agent with a registry lists active skills in its prompt and gets `activate_skill`, which returns the body and adds missing tools; an unknown name is a structured error with the available skills.',
    declined: 'docs/decisions/2026-11-22-beyond-the-documents.md',
  },
  {
    id: 'EXO-X08',
    kind: 'beyond',
    behaviour:
      'A difference in name, description, body, tool list, type or active flag makes a skill modified; its path is kept out of that fingerprint.',
    declined: 'docs/decisions/2026-11-22-beyond-the-documents.md',
  },
  {
    id: 'EXO-X09',
    kind: 'beyond',
    behaviour:
      'A batch lists added, then removed, then modified skills, each sorted by name; a change of files that leaves all skills the same yields nothing.',
  },
  {
    id: 'EXO-X10',
    kind: 'beyond',
    behaviour:
      'Backoff starts at 1 second and doubles up to 60 seconds; when `watch()` ends normally, the manager does not call it again.',
  },
  {
    id: 'EXO-X11',
    kind: 'beyond',
    behaviour:
      'An invalid GitHub URL throws a `SkillError` in the constructor; a failed update is logged with exit code and error output, a git that cannot be run is logged too, and polling continues.',
  },
  {
    id: 'EXO-X12',
    kind: 'beyond',
    behaviour:
      '`skill:removed` carries the last skill known to the registry when the event brings none; handlers of the bus run one after the other in the order of registration.',
  },
  {
    id: 'EXO-B01',
    kind: 'mistake',
    behaviour:
      'A bus handler, resolver or builder that throws does not cost the rest of the batch, is not taken for a failed watcher, and loses no change.',
  },
  {
    id: 'EXO-B02',
    kind: 'mistake',
    behaviour:
      'What was known before a watcher failed outlives its restart, so changes made during the backoff are reported afterwards.',
  },
  {
    id: 'EXO-B03',
    kind: 'mistake',
    behaviour: 'The backoff starts again from its first value after a success.',
  },
  {
    id: 'EXO-B04',
    kind: 'mistake',
    behaviour:
      'Removing a skill removes only tools that were added for it: a tool of the agent itself stays, and a tool shared by two skills stays until both are gone.',
  },
  {
    id: 'EXO-B05',
    kind: 'mistake',
    behaviour:
      'Skills loaded by `loadAll` before the start are tracked too, so their first modification replaces their tools and leaves no duplicates.',
  },
  {
    id: 'EXO-B06',
    kind: 'mistake',
    behaviour:
      'An agent bound late receives the tools of the skills that exist, unbinding can take them away again, and binding or unbinding during a batch is safe.',
  },
  {
    id: 'EXO-B07',
    kind: 'mistake',
    behaviour:
      'Changes from watchers obey the conflict strategy, and removing the winning copy of a skill brings forward the copy that it shadowed.',
  },
  {
    id: 'EXO-B08',
    kind: 'mistake',
    behaviour:
      'The builder receives active skills only, and its text is composed with the base instructions of the agent instead of replacing them.',
  },
  {
    id: 'EXO-B09',
    kind: 'mistake',
    behaviour:
      'One unreadable or badly encoded skill file leaves the other skills loaded and the watcher running, and a directory that is still missing is awaited without repeated failures.',
  },
  {
    id: 'EXO-B10',
    kind: 'mistake',
    behaviour:
      '`.git`, hidden directories and `node_modules` are not scanned, `SKILL.md` wins over `skill.md` in one directory, and quoted and multi-line YAML values are read correctly.',
  },
  {
    id: 'EXO-B11',
    kind: 'mistake',
    behaviour:
      'Branches with `/`, a `.git` suffix, other default branches and force-pushed branches are handled, `..` in a cache path is refused, and git runs with a time limit and never asks for credentials.',
  },
  {
    id: 'EXO-B12',
    kind: 'mistake',
    behaviour:
      'A watcher can be started again after `stop()`, and a skill that moves without other changes is reported.',
  },
  {
    id: 'EXO-B13',
    kind: 'mistake',
    behaviour:
      'The order of effects is one and the same everywhere: registry, tools, instructions, then events.',
  },
] as const satisfies readonly Requirement[]
