import type { Requirement } from './requirement.ts'

/** Crabtalk: skills are read from disk whenever they are used. */
export const CRAB = [
  {
    id: 'CRAB-01',
    kind: 'described',
    behaviour:
      'A `SKILL.md` has the format of agentskills.io. `name` and `description` are required, `allowed-tools` is optional, and the body is the prompt.',
  },
  {
    id: 'CRAB-02',
    kind: 'described',
    behaviour:
      'Loading scans the given directories and their subdirectories for `SKILL.md`, in the order of the configuration.',
  },
  {
    id: 'CRAB-03',
    kind: 'described',
    behaviour: 'Each skill has its own directory.',
  },
  {
    id: 'CRAB-04',
    kind: 'described',
    behaviour: 'Skills may be nested in category folders, as in `skills/category/my-skill/SKILL.md`.',
  },
  {
    id: 'CRAB-05',
    kind: 'described',
    behaviour: 'Directories whose name starts with a dot are not scanned.',
  },
  {
    id: 'CRAB-06',
    kind: 'described',
    behaviour:
      'When two directories contain a skill of the same name, the directory that is listed first wins. The other skill is skipped with a warning.',
  },
  {
    id: 'CRAB-07',
    kind: 'described',
    behaviour:
      'The registry is safe under concurrent use. It can add a skill, replace a skill by name, report whether it contains a name, and list all skills.',
  },
  {
    id: 'CRAB-08',
    kind: 'described',
    behaviour: 'Agents use skills through one tool, whose input is an object with the string `name`.',
  },
  {
    id: 'CRAB-09',
    kind: 'described',
    behaviour:
      'The tool first checks the scope. If an agent has a scope, the tool refuses every name outside this scope.',
  },
  {
    id: 'CRAB-10',
    kind: 'described',
    behaviour: 'After the scope check, the tool refuses any name that contains `..`, `/` or a backslash.',
  },
  {
    id: 'CRAB-11',
    kind: 'described',
    behaviour:
      'After both checks, the tool looks for `{dir}/{name}/SKILL.md` in each directory. The tool parses the file that it finds, adds the skill to the registry, and returns the body.',
  },
  {
    id: 'CRAB-12',
    kind: 'described',
    behaviour:
      'Without an exact match the tool searches names and descriptions for the input. An empty input lists all skills. The search and the list contain only skills in the scope.',
  },
  {
    id: 'CRAB-13',
    kind: 'described',
    behaviour:
      'Each call reads the skill from disk again and updates the registry, so an edit takes effect immediately and without a restart.',
  },
  {
    id: 'CRAB-14',
    kind: 'described',
    behaviour:
      'A leading `/skill-name` in a message is resolved from disk before the agent sees the message. The body is inserted in a `<skill>` tag, without a tool call.',
  },
  {
    id: 'CRAB-15',
    kind: 'described',
    behaviour:
      'A scope with names allows only the named skills, and an empty scope allows all skills. The scope applies to exact loads, fuzzy lists and slash commands.',
  },
  {
    id: 'CRAB-16',
    kind: 'described',
    behaviour:
      'A skill needs neither a code plug-in nor a database entry. The registry is rebuilt from the files within milliseconds.',
  },
  {
    id: 'CRAB-17',
    kind: 'described',
    behaviour:
      'A skill can receive arguments, and `allowed-tools` can be ignored, advised or enforced at run time. The design left both questions open.',
  },
  {
    id: 'CRAB-X01',
    kind: 'beyond',
    behaviour:
      'The result for an exact name is the body, a blank line and `Skill directory: <path>`. The result of a search has lines `name: description`, and an empty result reads `no skills found`.',
  },
  {
    id: 'CRAB-X02',
    kind: 'beyond',
    behaviour:
      'Each kind of refusal has its own text and detail: skill not available, invalid skill name, failed to parse skill, and invalid arguments.',
  },
  {
    id: 'CRAB-X03',
    kind: 'beyond',
    behaviour:
      'A slash expansion returns the remaining text, a blank line and the `<skill>` block, or the block alone. Leading whitespace is ignored. An unknown name, a name outside the scope or the name of a broken skill leaves the message unchanged.',
  },
  {
    id: 'CRAB-X04',
    kind: 'beyond',
    behaviour:
      'A catalog in the system prompt lists the skills in scope as `- name: description` and says that a `<skill>` block is already loaded. The prompt of a scoped agent names its scope, and the agent gets only allowed tools.',
    declined: 'docs/decisions/2026-11-22-beyond-the-documents.md',
  },
  {
    id: 'CRAB-X05',
    kind: 'beyond',
    behaviour:
      'Missing directories are tolerated, and files that cannot be parsed are skipped with a warning. License, compatibility, metadata and allowed-tools are read. The description can be made optional.',
  },
  {
    id: 'CRAB-X06',
    kind: 'beyond',
    behaviour: '`allowed-tools` may be a YAML list or a string separated by commas or spaces.',
  },
  {
    id: 'CRAB-X07',
    kind: 'beyond',
    behaviour:
      'Single skills and whole external sources can be disabled, and the usual external roots are known. Each skill names its source, and a conflict report names both directories.',
    declined: 'docs/decisions/2026-11-22-beyond-the-documents.md',
  },
  {
    id: 'CRAB-X08',
    kind: 'beyond',
    behaviour: 'A skill nested inside the directory of another skill is found.',
  },
  {
    id: 'CRAB-X09',
    kind: 'beyond',
    behaviour:
      'Listing reads no bodies and is paged. The answer to an unknown name contains the size of the catalog. The scope applies to calls and to lists. Skills can be added and removed.',
  },
  {
    id: 'CRAB-X10',
    kind: 'beyond',
    behaviour:
      'Completion after `/` offers built-in commands and skill names. An unknown slash name is passed on unchanged.',
    declined: 'docs/decisions/2026-11-22-beyond-the-documents.md',
  },
  {
    id: 'CRAB-B01',
    kind: 'mistake',
    behaviour:
      'A scoped agent that calls the tool with an empty or partial name receives the matching skills of its scope.',
  },
  {
    id: 'CRAB-B02',
    kind: 'mistake',
    behaviour:
      'Every listed skill can be loaded by its name and by slash command, even if it is nested or its directory has another name. Each skill has only one identity.',
  },
  {
    id: 'CRAB-B03',
    kind: 'mistake',
    behaviour:
      'A disabled skill cannot be loaded by name or by slash command. A deleted skill no longer appears in the fuzzy list.',
  },
  {
    id: 'CRAB-B04',
    kind: 'mistake',
    behaviour:
      'A slash name ends at whitespace or at the end of the message, so `/greet_foo` does not call the skill `greet`.',
  },
  {
    id: 'CRAB-B05',
    kind: 'mistake',
    behaviour: 'Files with CRLF line endings have the same values and body as files with LF.',
  },
  {
    id: 'CRAB-B06',
    kind: 'mistake',
    behaviour:
      'An end-to-end test proves that a running process sees an edited skill file without a restart.',
  },
  {
    id: 'CRAB-B07',
    kind: 'mistake',
    behaviour: 'A name exists only once in the registry, and replacing a skill keeps the order of the list.',
  },
] as const satisfies readonly Requirement[]
