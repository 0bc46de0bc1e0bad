import type { Requirement } from './requirement.ts'

/** RustFox: the agent writes skills for itself and uses them in the same conversation. */
export const FOX = [
  {
    id: 'FOX-01',
    kind: 'described',
    behaviour: 'On request the agent writes a new skill together with the user, in the correct format.',
  },
  {
    id: 'FOX-02',
    kind: 'described',
    behaviour:
      'A written skill may consist of several files: `SKILL.md` with references, templates and scripts.',
  },
  {
    id: 'FOX-03',
    kind: 'described',
    behaviour: 'A written skill is loaded into memory immediately, without a restart.',
  },
  {
    id: 'FOX-04',
    kind: 'described',
    behaviour: 'The shipped skill `creating-skills` teaches the format and the process of writing a skill.',
  },
  {
    id: 'FOX-05',
    kind: 'described',
    behaviour:
      'Several readers can use the registry at the same time. A reload replaces the whole registry, so no reader sees a mixture.',
  },
  {
    id: 'FOX-06',
    kind: 'described',
    behaviour: 'The system prompt is built asynchronously from the current state of the registry.',
  },
  {
    id: 'FOX-07',
    kind: 'described',
    behaviour:
      'Each message gets a system prompt from the live registry. A new conversation stores this prompt. An existing conversation uses the new prompt in memory only and keeps the stored text.',
  },
  {
    id: 'FOX-08',
    kind: 'described',
    behaviour:
      'After several calls of `write_skill_file` and one of `reload_skills`, the new skill is active in the same conversation.',
  },
  {
    id: 'FOX-09',
    kind: 'described',
    behaviour:
      'Both author tools form a tool pack. Both appear in the list of all tools and in the list of the agent loop, and can be called.',
  },
  {
    id: 'FOX-10',
    kind: 'described',
    behaviour: '`write_skill_file` takes the required strings `skill_name`, `relative_path` and `content`.',
  },
  {
    id: 'FOX-11',
    kind: 'described',
    behaviour: '`write_skill_file` accepts only skill names that match `^[a-z0-9-]{1,64}$`.',
  },
  {
    id: 'FOX-12',
    kind: 'described',
    behaviour:
      '`write_skill_file` accepts only relative paths with forward slashes and without `..` components.',
  },
  {
    id: 'FOX-13',
    kind: 'described',
    behaviour:
      '`write_skill_file` writes the file to its relative path inside the skill folder. The skill folder is in the configured skills directory.',
  },
  {
    id: 'FOX-14',
    kind: 'described',
    behaviour: 'Missing parent directories of a written file are created.',
  },
  {
    id: 'FOX-15',
    kind: 'described',
    behaviour: '`write_skill_file` returns the path of the written file.',
  },
  {
    id: 'FOX-16',
    kind: 'described',
    behaviour:
      '`reload_skills` has no parameters. It loads the configured skills, replaces the registry and returns the number of loaded skills.',
  },
  {
    id: 'FOX-17',
    kind: 'described',
    behaviour:
      '`creating-skills` has the tags `skills` and `meta`. Its description says to use it when the user wants a new skill or wants to teach a new behaviour or capability.',
  },
  {
    id: 'FOX-18',
    kind: 'described',
    behaviour:
      '`creating-skills` explains five steps: gather, design, write with one call for each file, activate with `reload_skills`, and confirm with a list of the files.',
  },
  {
    id: 'FOX-19',
    kind: 'described',
    behaviour:
      '`creating-skills` has rules for frontmatter, wording and length of the description, the name, bodies under 500 lines, references one level deep, lasting content and consistent terms.',
  },
  {
    id: 'FOX-20',
    kind: 'described',
    behaviour:
      'Names and paths are checked before they are joined. The skills directory is separate from the sandbox for user files, and a reload reads only configured directories.',
  },
  {
    id: 'FOX-21',
    kind: 'described',
    behaviour:
      'One generic tool writes every file of a skill. A reload happens in memory only. The shipped authoring skill has a gerund name.',
  },
  {
    id: 'FOX-22',
    kind: 'described',
    behaviour:
      'Writing skills needs no shell commands, and does not give the ordinary file tools access to more files.',
  },
  {
    id: 'FOX-X01',
    kind: 'beyond',
    behaviour:
      'Absolute paths and empty names or paths are also refused, each with its own message. A reload reports the number of active skills, and a failed reload keeps the old registry.',
  },
  {
    id: 'FOX-X02',
    kind: 'beyond',
    behaviour:
      'A skill is a folder with `SKILL.md` or, as an option, a single `.md` file. Name and description have fallbacks, unreadable files are skipped with a warning, and a missing directory counts as empty.',
  },
  {
    id: 'FOX-X03',
    kind: 'beyond',
    behaviour: 'The system message of a conversation is found by its role, not by its position.',
  },
  {
    id: 'FOX-X04',
    kind: 'beyond',
    behaviour:
      '`read_skill_file` reads one file of a skill. The catalog contains metadata and a hint how to load a skill. A skill with `model` can run as a sub-agent with its own tools and limit.',
    declined: 'docs/decisions/2026-11-22-beyond-the-documents.md',
  },
  {
    id: 'FOX-X05',
    kind: 'beyond',
    behaviour:
      'A writable layer shadows a bundled, read-only layer. Reads stay inside the layer that owns the skill, writes go to the writable layer, and a reload reads both layers.',
  },
  {
    id: 'FOX-X06',
    kind: 'beyond',
    behaviour:
      "An empty directory is filled with the bundled skills once. An update overwrites unmodified skills, backs up modified ones before overwriting them, and leaves the user's own skills unchanged. Hashes decide which skills are modified.",
    declined: 'docs/decisions/2026-11-22-beyond-the-documents.md',
  },
  {
    id: 'FOX-X07',
    kind: 'beyond',
    behaviour:
      'A control interface creates, updates and quarantines skills, and never leaves a half-written skill. The interface refuses duplicates, empty or misnamed files, stale base hashes and changes to bundled skills. It also shows the provenance of a skill.',
    declined: 'docs/decisions/2026-11-22-beyond-the-documents.md',
  },
  {
    id: 'FOX-X08',
    kind: 'beyond',
    behaviour:
      'An installer has a dry run that writes nothing, refuses secrets and executables, and requires confirmation of suspicious text. The installer limits depth, count and size, and records commit and content hash.',
    declined: 'docs/decisions/2026-11-22-beyond-the-documents.md',
  },
  {
    id: 'FOX-B01',
    kind: 'mistake',
    behaviour: 'A reload always reads the sources again, and reports success only after reading the sources.',
  },
  {
    id: 'FOX-B02',
    kind: 'mistake',
    behaviour:
      'Every write checks the skill name and the path. Uppercase letters and `_` in a skill name are refused, and a file named `notes..md` is accepted.',
  },
  {
    id: 'FOX-B03',
    kind: 'mistake',
    behaviour: 'A reload reads all sources, so bundled skills stay.',
  },
  {
    id: 'FOX-B04',
    kind: 'mistake',
    behaviour: 'A quarantined or deleted skill does not come back at the next reload under its old name.',
  },
  {
    id: 'FOX-B05',
    kind: 'mistake',
    behaviour:
      'Content and files of a skill always come from the same copy, even if a shadowed copy exists. After a reload, no skill has an outdated location.',
  },
  {
    id: 'FOX-B06',
    kind: 'mistake',
    behaviour:
      'Frontmatter ends only at a line that is exactly the delimiter, so a description may contain `---`. Block lists of YAML are read.',
  },
  {
    id: 'FOX-B07',
    kind: 'mistake',
    behaviour:
      'If one directory contains two copies of a skill, the same copy wins on every machine and in every run.',
  },
  {
    id: 'FOX-B08',
    kind: 'mistake',
    behaviour:
      'If a model calls an unknown tool that has the name of a skill, the answer points to the skill tool.',
  },
  {
    id: 'FOX-B09',
    kind: 'mistake',
    behaviour:
      'A skill that is written during a turn is known at the next model call, not only at the next message.',
  },
  {
    id: 'FOX-B10',
    kind: 'mistake',
    behaviour: 'The system prompt contains only metadata of skills, never their bodies.',
  },
  {
    id: 'FOX-B11',
    kind: 'mistake',
    behaviour:
      'Paths with backslashes, NUL or drive letters are refused. Symbolic links to targets outside the skill folder are also refused.',
  },
] as const satisfies readonly Requirement[]
