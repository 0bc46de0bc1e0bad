import type { Requirement } from './requirement.ts'

/** Omni: the code of skills is reloaded behind a running MCP server. */
export const OMNI = [
  {
    id: 'OMNI-01',
    kind: 'described',
    behaviour: 'An edited script takes effect at the next command call, without a restart of the MCP server.',
  },
  {
    id: 'OMNI-02',
    kind: 'described',
    behaviour:
      'Every call of `getSkill(name)` checks the script files of the skill, reloads the skill if a script file has changed, and returns the skill.',
  },
  {
    id: 'OMNI-03',
    kind: 'described',
    behaviour:
      'In the mode `mtime`, a skill is reloaded when its newest script is strictly newer than the recorded time. Without a recorded time, 0 is used.',
  },
  {
    id: 'OMNI-04',
    kind: 'described',
    behaviour:
      'After a reload, the skill uses no module of the old code, including helper modules. Modules of other skills stay loaded.',
  },
  {
    id: 'OMNI-05',
    kind: 'described',
    behaviour: 'A reload drops the cached commands of this skill and of no other skill.',
  },
  {
    id: 'OMNI-06',
    kind: 'described',
    behaviour: 'A reload drops the cached native functions of this skill and of no other skill.',
  },
  {
    id: 'OMNI-07',
    kind: 'described',
    behaviour:
      'A reload clears everything that the script loader has collected, and then loads all scripts of the skill again.',
  },
  {
    id: 'OMNI-08',
    kind: 'described',
    behaviour: 'The commands that a reload finds are registered again.',
  },
  {
    id: 'OMNI-09',
    kind: 'described',
    behaviour:
      'A reload records the new state of the scripts, so a further call without an edit does not reload.',
  },
  {
    id: 'OMNI-10',
    kind: 'described',
    behaviour:
      'A reload activates new implementations, logic and fixes, registers new commands and unregisters removed ones.',
  },
  {
    id: 'OMNI-11',
    kind: 'described',
    behaviour:
      'A changed description or parameter list of a command reaches clients through `skill.reload`. A changed set of tools causes the tool list notification. New code alone requires neither.',
  },
  {
    id: 'OMNI-12',
    kind: 'described',
    behaviour:
      'The documentation says that clients may cache the name, description and parameters of a tool. The server therefore notifies clients of each such change.',
  },
  {
    id: 'OMNI-13',
    kind: 'described',
    behaviour:
      '`skill.reload` with a skill name reloads that skill and then sends `notifications/tools/list_changed`, so that clients list the tools again.',
  },
  {
    id: 'OMNI-14',
    kind: 'described',
    behaviour:
      'A tool call first gets the skill through `getSkill`, and then executes the command with the arguments. A call after an edit therefore runs the new code.',
  },
  {
    id: 'OMNI-15',
    kind: 'described',
    behaviour: 'A command is called by its id, `skill.command`, for example `git.status`.',
  },
  {
    id: 'OMNI-16',
    kind: 'described',
    behaviour: 'Each reload of code writes the log line `Hot reloading skill` with the name of the skill.',
  },
  {
    id: 'OMNI-17',
    kind: 'described',
    behaviour:
      'Diagnostics show the newest modification time of the scripts. The caches of commands, functions and modules of one skill can be cleared on request.',
  },
  {
    id: 'OMNI-18',
    kind: 'described',
    behaviour:
      'After a change of metadata, `skill.reload` is enough for the server. The documentation says when a client with a cache needs a new session.',
  },
  {
    id: 'OMNI-19',
    kind: 'described',
    behaviour:
      'The documentation advises users to edit code rather than metadata, to use `skill.reload` for metadata, to try small changes first, and to restart if nothing else helps.',
  },
  {
    id: 'OMNI-20',
    kind: 'described',
    behaviour: 'A file watcher reloads skills without a call, in addition to the check at each access.',
  },
  {
    id: 'OMNI-21',
    kind: 'described',
    behaviour: 'One component sends all notifications to MCP clients, and exists as long as the server.',
  },
  {
    id: 'OMNI-22',
    kind: 'described',
    behaviour:
      '`scanPaths` takes pairs of path and content, a skill name, keywords and intents, and finds the commands. It never accesses the file system.',
  },
  {
    id: 'OMNI-23',
    kind: 'described',
    behaviour: 'A function declared as the command `x` produces a record with the tool name `<skill>.x`.',
  },
  {
    id: 'OMNI-24',
    kind: 'described',
    behaviour: 'Each scanned record carries a hash of its file, which changes whenever the content changes.',
  },
  {
    id: 'OMNI-25',
    kind: 'described',
    behaviour:
      'A scanned tool disappears when its file list is empty, and returns under the same tool name when the file is added again.',
  },
  {
    id: 'OMNI-26',
    kind: 'described',
    behaviour:
      'The scanning tests use contents in memory, need no temporary directory and change no real skill.',
  },
  {
    id: 'OMNI-27',
    kind: 'described',
    behaviour:
      'Tests cover change detection, clearing of modules, registration of commands, edge cases, reloading by the script loader, and the complete path through a server.',
  },
  {
    id: 'OMNI-28',
    kind: 'described',
    behaviour:
      'The documentation has a manual test: start the server on stdio, edit a script, call the command and see the change.',
  },
  {
    id: 'OMNI-X01',
    kind: 'beyond',
    behaviour:
      'Registering a skill first removes all its old commands and functions, and then records the state of its scripts.',
  },
  {
    id: 'OMNI-X02',
    kind: 'beyond',
    behaviour:
      'A missing scripts folder, a missing skill folder or a failing stat leaves the skill unchanged. An unknown skill returns null.',
  },
  {
    id: 'OMNI-X03',
    kind: 'beyond',
    behaviour:
      'Scripts load recursively in a fixed order with private files last, and a failing script does not stop the others. An index on disk, keyed by path, size and time, allows loading one command with only its files.',
    declined: 'docs/decisions/2026-11-22-beyond-the-documents.md',
  },
  {
    id: 'OMNI-X04',
    kind: 'beyond',
    behaviour: 'A module whose path, modification time and size are unchanged may be reused, as an option.',
    declined: 'docs/decisions/2026-11-22-beyond-the-documents.md',
  },
  {
    id: 'OMNI-X05',
    kind: 'beyond',
    behaviour:
      '`execute` finds a command by its full name, then by its simple name. The error for an unknown command lists the commands. The error for missing arguments also names the given arguments. Handlers may be synchronous or asynchronous.',
  },
  {
    id: 'OMNI-X06',
    kind: 'beyond',
    behaviour:
      'The watcher reacts to changes of scripts and `SKILL.md` files. It waits 0.5 s for files to settle, and 1 s after an error. It ignores caches, build output, dependencies, directories, test files and private files.',
  },
  {
    id: 'OMNI-X07',
    kind: 'beyond',
    behaviour:
      'Debouncing never loses a deletion, and repeated events have one effect. A created or changed file that no longer exists counts as deleted.',
  },
  {
    id: 'OMNI-X08',
    kind: 'beyond',
    behaviour:
      'A change updates the index, reloads the skill and calls the callback. If one stage fails, this is logged and the later stages still run.',
  },
  {
    id: 'OMNI-X09',
    kind: 'beyond',
    behaviour:
      'Reloading a skill creates a fresh instance, loads and registers it, logs the duration and the number of commands, and notifies clients. A failure is logged and not thrown.',
  },
  {
    id: 'OMNI-X10',
    kind: 'beyond',
    behaviour:
      'The first change causes a notification immediately. Changes within the next second share one notification at the end of that second. Notifications are never sent at the same time. A failing callback or send is logged and does not stop the others.',
  },
  {
    id: 'OMNI-X11',
    kind: 'beyond',
    behaviour:
      'Notifications go to all connected clients, and having no connected client is not an error. The server announces `tools.listChanged`.',
  },
  {
    id: 'OMNI-X12',
    kind: 'beyond',
    behaviour:
      'A scanned record has names, file, function, description (declared, else from the doc comment, else a default), keywords, intents, hash, category, annotations and input schema. Private and unparsable files produce no record.',
  },
  {
    id: 'OMNI-X13',
    kind: 'beyond',
    behaviour:
      'Code is checked before a reload, and the old skill stays after a syntax error. Unloading old code and loading new code is one step with one notification. At start, index entries without a skill are removed.',
  },
  {
    id: 'OMNI-X14',
    kind: 'beyond',
    behaviour:
      'Skills load when first needed. Commands of skills that are not loaded have a marked schema. Beyond a limit, the least recently used skills are unloaded, except pinned skills.',
    declined: 'docs/decisions/2026-11-22-beyond-the-documents.md',
  },
  {
    id: 'OMNI-X15',
    kind: 'beyond',
    behaviour:
      '`skill.unload` unloads one skill. `skill.reload` reports whether the skill was reloaded, was newly loaded, was not found, or failed.',
  },
  {
    id: 'OMNI-B01',
    kind: 'mistake',
    behaviour:
      'A deleted script, even the last script, counts as a change at the next access, so no code of the deleted file stays in use.',
  },
  {
    id: 'OMNI-B02',
    kind: 'mistake',
    behaviour:
      'Edits that keep the modification time, files restored with older times and edits of nested files are all found.',
  },
  {
    id: 'OMNI-B03',
    kind: 'mistake',
    behaviour:
      'After a syntax error, the working commands can still be called, and the error is reported. The skill is loaded again at the next change.',
  },
  {
    id: 'OMNI-B04',
    kind: 'mistake',
    behaviour:
      'Functions are cleared for exactly one skill. Reloading `git` does not affect `git_extra`. Functions without a qualified name also belong to a skill.',
  },
  {
    id: 'OMNI-B05',
    kind: 'mistake',
    behaviour: 'If an access causes a reload, MCP clients are notified as after any other reload.',
  },
  {
    id: 'OMNI-B06',
    kind: 'mistake',
    behaviour: 'The notification is sent as `notifications/tools/list_changed`, the method name of MCP.',
  },
  {
    id: 'OMNI-B07',
    kind: 'mistake',
    behaviour:
      'Changes during the cooldown of the notifier cause one notification at the end of the cooldown, and no change is dropped.',
  },
  {
    id: 'OMNI-B08',
    kind: 'mistake',
    behaviour:
      'Every command that the documentation names exists. Unloading reports success only if something was unloaded.',
  },
  {
    id: 'OMNI-B09',
    kind: 'mistake',
    behaviour: 'The check at each access includes `SKILL.md` and the scripts.',
  },
  {
    id: 'OMNI-B10',
    kind: 'mistake',
    behaviour:
      'A skill that has the name of a library does not replace that library, because the code of each skill has its own identity.',
  },
] as const satisfies readonly Requirement[]
