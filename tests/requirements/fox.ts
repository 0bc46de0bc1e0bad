import type { Requirement } from './requirement.ts'

/** RustFox: the agent writes skills for itself and uses them in the same conversation. */
export const FOX = [
  {
    id: 'FOX-01',
    kind: 'described',
    behaviour: 'On request the agent writes a new skill together with the user, in the right format.',
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
    behaviour: 'A written skill is loaded into memory at once, without a restart.',
  },
  {
    id: 'FOX-04',
    kind: 'described',
    behaviour: 'The shipped skill `creating-skills` teaches the format and the way to write a skill.',
  },
  {
    id: 'FOX-05',
    kind: 'described',
    behaviour:
      'Many can read the registry at once, and a reload replaces it as a whole, so no reader sees a mixture.',
  },
  {
    id: 'FOX-06',
    kind: 'described',
    behaviour: 'The system prompt is built asynchronously from the state of the registry at that moment.',
  },
  {
    id: 'FOX-07',
    kind: 'described',
    behaviour:
      'Each message gets a system prompt from the live registry: a new conversation stores it, an existing one refreshes it in memory only and keeps the stored text.',
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
      'Both author tools form a tool pack; they appear among all tools and in the list of the agent loop, and the dispatcher finds them.',
  },
  {
    id: 'FOX-10',
    kind: 'described',
    behaviour:
      '`write_skill_file` takes `skill_name`, `relative_path` and `content`, all of them required strings.',
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
      'A file is written to its relative path inside the folder of its skill in the configured skills directory.',
  },
  {
    id: 'FOX-14',
    kind: 'described',
    behaviour: 'Missing parent directories of a written file are created.',
  },
  {
    id: 'FOX-15',
    kind: 'described',
    behaviour: '`write_skill_file` returns the path it has written.',
  },
  {
    id: 'FOX-16',
    kind: 'described',
    behaviour:
      '`reload_skills` has no parameters, loads what is configured, replaces the registry and returns the number of loaded skills.',
  },
  {
    id: 'FOX-17',
    kind: 'described',
    behaviour:
      '`creating-skills` carries the tags `skills` and `meta`, and its description says to use it when the user wants a new skill or wants to teach a new behaviour or capability.',
  },
  {
    id: 'FOX-18',
    kind: 'described',
    behaviour:
      '`creating-skills` leads through gathering, designing, writing with one call for each file, activating at once with `reload_skills`, and confirming with a list of the files.',
  },
  {
    id: 'FOX-19',
    kind: 'described',
    behaviour:
      'The authoring rules cover frontmatter, wording and length of the description, the name, bodies under 500 lines, references one level deep, lasting content and consistent terms.',
  },
  {
    id: 'FOX-20',
    kind: 'described',
    behaviour:
      'Names and paths are checked before they are joined, the skills directory is apart from the sandbox for user files, and a reload reads configured directories only.',
  },
  {
    id: 'FOX-21',
    kind: 'described',
    behaviour:
      'One generic tool writes every file of a skill, a reload is in memory only, and the shipped authoring skill has a gerund name.',
  },
  {
    id: 'FOX-22',
    kind: 'described',
    behaviour:
      'Writing skills neither widens the sandbox of the ordinary file tools nor needs shell commands.',
  },
  {
    id: 'FOX-X01',
    kind: 'beyond',
    behaviour:
      'Absolute paths and empty names or paths are refused too, each fault with a message of its own; a reload tells how many skills are active, and a failed one keeps the old registry.',
  },
  {
    id: 'FOX-X02',
    kind: 'beyond',
    behaviour:
      'A skill is a folder with `SKILL.md` or, as an option, a single `.md` file; name and description have fallbacks, unreadable files are skipped with a warning, and a missing directory is empty.',
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
      '`read_skill_file` reads one file of a skill, the catalogue holds metadata with a hint how to load, and a skill with `model` can run as a sub-agent with its own tools and limit.',
    declined: 'docs/decisions/2026-11-22-beyond-the-documents.md',
  },
  {
    id: 'FOX-X05',
    kind: 'beyond',
    behaviour:
      'A writable layer shadows a bundled, read-only one: reads stay inside the layer that owns the skill, writes go to the writable layer, and a reload covers both.',
  },
  {
    id: 'FOX-X06',
    kind: 'beyond',
    behaviour:
      "Bundled skills fill an empty directory once; an update overwrites unmodified skills, backs up those the user has modified before overwriting, and leaves the user's own alone, judged by hashes.",
    declined: 'docs/decisions/2026-11-22-beyond-the-documents.md',
  },
  {
    id: 'FOX-X07',
    kind: 'beyond',
    behaviour:
      'A control interface creates, updates, quarantines and never half-writes skills: it refuses duplicates, empty or misnamed files, stale base hashes and changes to bundled skills, and shows provenance.',
    declined: 'docs/decisions/2026-11-22-beyond-the-documents.md',
  },
  {
    id: 'FOX-X08',
    kind: 'beyond',
    behaviour:
      'An installer has a dry run that writes nothing, refuses secrets and executables, wants suspicious text acknowledged, limits depth, count and size, and records commit and content hash.',
    declined: 'docs/decisions/2026-11-22-beyond-the-documents.md',
  },
  {
    id: 'FOX-B01',
    kind: 'mistake',
    behaviour: 'A reload really reads the sources again, and never reports success without having done so.',
  },
  {
    id: 'FOX-B02',
    kind: 'mistake',
    behaviour:
      'Every write validates name and path: uppercase letters and `_` in a skill name are refused, and a file named `notes..md` is accepted.',
  },
  {
    id: 'FOX-B03',
    kind: 'mistake',
    behaviour: 'A reload covers all sources, so bundled skills stay.',
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
      'Content and files of a skill always come from the same copy, also when a shadowed copy exists, and no old location survives a reload.',
  },
  {
    id: 'FOX-B06',
    kind: 'mistake',
    behaviour:
      'Frontmatter ends only at a line that is the delimiter, so a description may contain `---`; block lists of YAML are read.',
  },
  {
    id: 'FOX-B07',
    kind: 'mistake',
    behaviour: 'Of duplicates within one directory the same one wins on every machine and every run.',
  },
  {
    id: 'FOX-B08',
    kind: 'mistake',
    behaviour:
      'A call of an unknown tool that has the name of a skill is answered with a hint to the skill tool.',
  },
  {
    id: 'FOX-B09',
    kind: 'mistake',
    behaviour:
      'A skill written in the middle of a turn is known to the model at its next call, not only at the next message.',
  },
  {
    id: 'FOX-B10',
    kind: 'mistake',
    behaviour: 'The system prompt holds metadata of skills only, never their bodies.',
  },
  {
    id: 'FOX-B11',
    kind: 'mistake',
    behaviour: 'Backslashes, NUL, drive letters and symbolic links that lead outside are refused in paths.',
  },
] as const satisfies readonly Requirement[]
