import type { Requirement } from './requirement.ts'

/** Pai: a toolset that adds the catalog of skills to the prompt at each request. */
export const PAI = [
  {
    id: 'PAI-01',
    kind: 'described',
    behaviour: 'Skills add text to the system prompt of the main agent and create no child agents.',
  },
  {
    id: 'PAI-02',
    kind: 'described',
    behaviour: 'A skill is defined by a `SKILL.md` with YAML frontmatter.',
  },
  {
    id: 'PAI-03',
    kind: 'described',
    behaviour:
      'At first the model sees only name and description. The full content is read when the skill is activated.',
  },
  {
    id: 'PAI-04',
    kind: 'described',
    behaviour: 'Changes are found between two requests, without a restart.',
  },
  {
    id: 'PAI-05',
    kind: 'described',
    behaviour:
      'All file access goes through one asynchronous file operator, so skills may be stored on a remote file system.',
  },
  {
    id: 'PAI-06',
    kind: 'described',
    behaviour: '`name` and `description` are required. Every other frontmatter field is kept in `extra`.',
  },
  {
    id: 'PAI-07',
    kind: 'described',
    behaviour:
      'Skills are found in the skills directory of every allowed path. That directory is named `skills` by default.',
  },
  {
    id: 'PAI-08',
    kind: 'described',
    behaviour:
      'When skills have the same name, the skill in the later allowed path wins, so a project overrides a global setup.',
  },
  {
    id: 'PAI-09',
    kind: 'described',
    behaviour:
      'The file operator and the shell use the same paths, so a skill can refer to files relative to the allowed directories.',
  },
  {
    id: 'PAI-10',
    kind: 'described',
    behaviour:
      'A synchronous or asynchronous `preScanHook(toolset, ctx)` is called before every scan. It gets the directory name and the file operator, and may copy, download, validate or transform skills.',
  },
  {
    id: 'PAI-11',
    kind: 'described',
    behaviour:
      'A hook can copy built-in skills. It creates the directory, skips names that start with `_`, and never overwrites an existing target.',
  },
  {
    id: 'PAI-12',
    kind: 'described',
    behaviour:
      'An asynchronous hook can fetch remote skills and write the missing ones through the file operator.',
  },
  {
    id: 'PAI-13',
    kind: 'described',
    behaviour: 'A change is detected by SHA-256 over the YAML frontmatter, without the body.',
  },
  {
    id: 'PAI-14',
    kind: 'described',
    behaviour:
      'Each scan compares the skills with the cache. Only changed skills are loaded again, and an unchanged skill stays the same object.',
  },
  {
    id: 'PAI-15',
    kind: 'described',
    behaviour:
      'A new name or description reloads the skill. A new body does not reload the skill, because the body is read on demand. The prompt then stays identical byte for byte.',
  },
  {
    id: 'PAI-16',
    kind: 'described',
    behaviour:
      'The prompt has an `<available-skills>` block with name, description and path of each skill, a blank line, and `<skill-usage-instructions>` with three numbered steps.',
  },
  {
    id: 'PAI-17',
    kind: 'described',
    behaviour:
      'A toolset takes a directory name (`skills` by default), an optional id and an optional hook. It has `skillsDirName`, `id` and `getInstructions(ctx)`, which returns text or null.',
  },
  {
    id: 'PAI-18',
    kind: 'described',
    behaviour:
      'A `SkillConfig` contains name, description, the path of the skill directory, a content hash and the extra fields.',
  },
  {
    id: 'PAI-19',
    kind: 'described',
    behaviour:
      'Each request runs the hook, scans, hashes, compares, updates the cache and renders the instructions, in this order.',
  },
  {
    id: 'PAI-X01',
    kind: 'beyond',
    behaviour:
      'The toolset adds no tools. A call of a tool of this toolset fails, and the error says that the toolset has no tools. If there is no file operator or no skill, the instructions are null.',
  },
  {
    id: 'PAI-X02',
    kind: 'beyond',
    behaviour:
      'A `SKILL.md` in the skills root is a skill. Names that start with `_` or `.` are skipped, and files or directories that cannot be read are skipped with a warning.',
  },
  {
    id: 'PAI-X03',
    kind: 'beyond',
    behaviour:
      'Missing frontmatter, a missing name, a missing description, invalid YAML and frontmatter that is not a mapping each have their own message.',
  },
  {
    id: 'PAI-X04',
    kind: 'beyond',
    behaviour: 'Skills in the prompt are sorted by name.',
  },
  {
    id: 'PAI-X05',
    kind: 'beyond',
    behaviour:
      'Further directory names such as `.agents/skills` are scanned on request. In each allowed path, these directories rank below the primary directory. The directories of a project rank above the directories of the user.',
  },
  {
    id: 'PAI-X06',
    kind: 'beyond',
    behaviour:
      'Duplicates are resolved first, and then skills are compared by hash and path. Texts are escaped, paths of other systems are accepted, the catalog exists before the first request, and repeated scans are harmless.',
  },
  {
    id: 'PAI-B01',
    kind: 'mistake',
    behaviour:
      'A `SKILL.md` without a body is valid, and so is a `SKILL.md` that starts with a byte order mark.',
  },
  {
    id: 'PAI-B02',
    kind: 'mistake',
    behaviour:
      'The documented order of allowed paths puts the project last, so that the project overrides the global configuration.',
  },
  {
    id: 'PAI-B03',
    kind: 'mistake',
    behaviour: 'Names, descriptions and paths are escaped, so no text can break out of its XML block.',
  },
  {
    id: 'PAI-B04',
    kind: 'mistake',
    behaviour:
      'A skill that moves shows its new path, and a shadowed duplicate does not cause a reload at every request.',
  },
  {
    id: 'PAI-B05',
    kind: 'mistake',
    behaviour:
      'While a file is temporarily invalid, its skill stays in the catalog with the last good revision.',
  },
  {
    id: 'PAI-B06',
    kind: 'mistake',
    behaviour:
      'If a hook throws an error, the error is reported. The request continues, unless the host chose to let such a request fail.',
  },
] as const satisfies readonly Requirement[]
