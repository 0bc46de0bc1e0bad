import type { Requirement } from './requirement.ts'

/** Omni: the code of skills is reloaded behind a running MCP server. */
export const OMNI = [
  {
    id: 'OMNI-01',
    kind: 'described',
    behaviour:
      'An edited script takes effect at the next command that is invoked, without a restart of the MCP server.',
  },
  {
    id: 'OMNI-02',
    kind: 'described',
    behaviour:
      'Every `getSkill(name)` checks the script files of the skill, reloads it if they have changed, and returns the up-to-date skill.',
  },
  {
    id: 'OMNI-03',
    kind: 'described',
    behaviour:
      'In the mode `mtime`, a skill is reloaded when its newest script is strictly newer than the remembered time; a skill without a remembered time counts as 0.',
  },
  {
    id: 'OMNI-04',
    kind: 'described',
    behaviour:
      'After a reload no module of the old code is used for this skill, helper modules included, while modules of other skills stay as they are.',
  },
  {
    id: 'OMNI-05',
    kind: 'described',
    behaviour: 'A reload drops the cached commands of this skill, and only of this skill.',
  },
  {
    id: 'OMNI-06',
    kind: 'described',
    behaviour: 'A reload drops the cached native functions of this skill, and only of this skill.',
  },
  {
    id: 'OMNI-07',
    kind: 'described',
    behaviour:
      'A reload empties what the script loader itself has collected, and then loads all scripts of the skill again.',
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
      'A reload remembers the new state of the scripts, so a further call without an edit does not reload.',
  },
  {
    id: 'OMNI-10',
    kind: 'described',
    behaviour:
      'A reload brings new implementations, logic and fixes into use, registers commands that are new and unregisters those that are gone.',
  },
  {
    id: 'OMNI-11',
    kind: 'described',
    behaviour:
      'A changed description or parameter list of a command reaches clients through `skill.reload`, and a changed set of tools through the tool list notification, not through new code alone.',
  },
  {
    id: 'OMNI-12',
    kind: 'described',
    behaviour:
      'The documentation says that clients may cache the name, description and parameters of a tool, and the server therefore tells them when these change.',
  },
  {
    id: 'OMNI-13',
    kind: 'described',
    behaviour:
      '`skill.reload` with a skill name reloads that skill, then sends `notifications/tools/list_changed`, so that clients list the tools again.',
  },
  {
    id: 'OMNI-14',
    kind: 'described',
    behaviour:
      'A tool call fetches the skill through `getSkill` and then executes the command with its arguments, so that a call after an edit runs the new code.',
  },
  {
    id: 'OMNI-15',
    kind: 'described',
    behaviour: 'A command is addressed as `skill.command`, for example `git.status`.',
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
      'Diagnostics show the newest modification time of the scripts, and the caches of commands, functions and modules of one skill can be cleared on request.',
  },
  {
    id: 'OMNI-18',
    kind: 'described',
    behaviour:
      'After a change of metadata `skill.reload` is enough for the server; the documentation tells when a client that still caches needs a new session.',
  },
  {
    id: 'OMNI-19',
    kind: 'described',
    behaviour:
      'The documentation advises to edit code rather than metadata, to use `skill.reload` for metadata, to try small changes first and to restart when stuck.',
  },
  {
    id: 'OMNI-20',
    kind: 'described',
    behaviour: 'A file watcher reloads skills by itself, in addition to the check at each access.',
  },
  {
    id: 'OMNI-21',
    kind: 'described',
    behaviour: 'One part that lives and ends with the server owns the notifications to MCP clients.',
  },
  {
    id: 'OMNI-22',
    kind: 'described',
    behaviour:
      '`scanPaths` finds the commands in given pairs of path and content, with a skill name, keywords and intents, and never touches the file system.',
  },
  {
    id: 'OMNI-23',
    kind: 'described',
    behaviour: 'A function declared as the command `x` gives a record with the tool name `<skill>.x`.',
  },
  {
    id: 'OMNI-24',
    kind: 'described',
    behaviour:
      'Each scanned record carries a hash of its file, which differs as soon as the content differs.',
  },
  {
    id: 'OMNI-25',
    kind: 'described',
    behaviour:
      'A scanned tool is gone when its file list is empty, and returns under the same tool name when the file is added again.',
  },
  {
    id: 'OMNI-26',
    kind: 'described',
    behaviour:
      'The tests of scanning work on contents in memory, need no temporary directory and alter no real skill.',
  },
  {
    id: 'OMNI-27',
    kind: 'described',
    behaviour:
      'Tests cover change detection, clearing of modules, registration of commands, edge cases, reloading by the script loader, and the whole chain in a server.',
  },
  {
    id: 'OMNI-28',
    kind: 'described',
    behaviour:
      'The documentation has a test by hand: start the server on stdio, add to a script, invoke the command and see the change.',
  },
  {
    id: 'OMNI-X01',
    kind: 'beyond',
    behaviour:
      'Registering a skill remembers the state of its scripts and first removes all old commands and functions of that skill.',
  },
  {
    id: 'OMNI-X02',
    kind: 'beyond',
    behaviour:
      'A missing scripts folder, a missing skill folder or a failing stat leaves the skill as it was; an unknown skill gives null.',
  },
  {
    id: 'OMNI-X03',
    kind: 'beyond',
    behaviour:
      'Scripts load recursively in a fixed order, private files last, and a failing one stops no other; one command can be loaded with only its files, by an index on disk keyed by path, size and time.',
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
      '`execute` finds a command by full, then by simple name; an unknown command gets the list of commands, missing arguments are named next to those provided, and handlers may be sync or async.',
  },
  {
    id: 'OMNI-X06',
    kind: 'beyond',
    behaviour:
      'The watcher follows scripts and `SKILL.md` files (0.5 s to settle, 1 s pause after an error) and leaves out caches, build output, dependencies, directories, test files and private files.',
  },
  {
    id: 'OMNI-X07',
    kind: 'beyond',
    behaviour:
      'A deletion is never lost to debouncing, a repeated event has one effect, and a created or changed file that no longer exists counts as deleted.',
  },
  {
    id: 'OMNI-X08',
    kind: 'beyond',
    behaviour:
      'A change runs through index, reload and callback; a failing stage is logged and the later stages still run.',
  },
  {
    id: 'OMNI-X09',
    kind: 'beyond',
    behaviour:
      'Reloading a skill builds a fresh instance, loads and registers it, logs the duration and the number of commands, and notifies clients; a failure is logged and not thrown.',
  },
  {
    id: 'OMNI-X10',
    kind: 'beyond',
    behaviour:
      'The first change notifies at once and those within the next second share one notification at its end; sends never overlap, and a failing callback or send is logged and stops no other.',
  },
  {
    id: 'OMNI-X11',
    kind: 'beyond',
    behaviour:
      'Notifications go to all connected clients, no connected client is not an error, and the server announces `tools.listChanged`.',
  },
  {
    id: 'OMNI-X12',
    kind: 'beyond',
    behaviour:
      'A scanned record has names, file, function, description (declared, else from the doc comment, else a default), keywords, intents, hash, category, annotations and input schema; private and unparsable files give none.',
  },
  {
    id: 'OMNI-X13',
    kind: 'beyond',
    behaviour:
      'Code is checked before a reload, and on a syntax error the old skill stays; unload and load are one step with one notification, and index entries without a skill are cleared at start.',
  },
  {
    id: 'OMNI-X14',
    kind: 'beyond',
    behaviour:
      'Skills load when first needed, those not loaded are offered with a marked schema, and the least recently used ones are unloaded beyond a limit, except pinned ones.',
    declined: 'docs/decisions/2026-11-22-beyond-the-documents.md',
  },
  {
    id: 'OMNI-X15',
    kind: 'beyond',
    behaviour:
      '`skill.unload` unloads one skill, and `skill.reload` tells whether the skill was reloaded, was loaded only now, was not found or failed.',
  },
  {
    id: 'OMNI-B01',
    kind: 'mistake',
    behaviour:
      'Deleting a script, even the last one, counts as a change at the next access, so nothing of the deleted file stays in use.',
  },
  {
    id: 'OMNI-B02',
    kind: 'mistake',
    behaviour:
      'Edits within one timestamp, files restored with older times and nested files are all noticed.',
  },
  {
    id: 'OMNI-B03',
    kind: 'mistake',
    behaviour:
      'A syntax error leaves the working commands in service, is reported loudly, and the skill is tried again at the next change.',
  },
  {
    id: 'OMNI-B04',
    kind: 'mistake',
    behaviour:
      'Clearing is by exact owner: reloading `git` leaves `git_extra` alone, and functions without a qualified name belong to a skill too.',
  },
  {
    id: 'OMNI-B05',
    kind: 'mistake',
    behaviour: 'A reload on access notifies MCP clients just as any other reload does.',
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
      'Changes during the cooldown of the notifier lead to one notification at its end; none is dropped.',
  },
  {
    id: 'OMNI-B08',
    kind: 'mistake',
    behaviour:
      'Every command that the documentation names exists, and unloading reports success only if something was unloaded.',
  },
  {
    id: 'OMNI-B09',
    kind: 'mistake',
    behaviour: 'The check on access covers `SKILL.md` as well as the scripts.',
  },
  {
    id: 'OMNI-B10',
    kind: 'mistake',
    behaviour:
      'A skill named like a library does not shadow that library: the code of each skill has an identity of its own.',
  },
] as const satisfies readonly Requirement[]
