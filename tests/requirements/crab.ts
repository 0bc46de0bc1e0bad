import type { Requirement } from './requirement.ts'

/** Crabtalk: skills are read from disk whenever they are used. */
export const CRAB = [
  {
    id: 'CRAB-01',
    kind: 'described',
    behaviour:
      'A `SKILL.md` follows agentskills.io: `name` and `description` are required, `allowed-tools` is optional, and the body is the prompt.',
  },
  {
    id: 'CRAB-02',
    kind: 'described',
    behaviour:
      'Loading scans the given directories in the order of the configuration, each with all its subdirectories, for `SKILL.md`.',
  },
  {
    id: 'CRAB-03',
    kind: 'described',
    behaviour: 'Each skill has a directory of its own.',
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
      'When two directories hold a skill of the same name, the one listed first wins, and the other is skipped with a warning.',
  },
  {
    id: 'CRAB-07',
    kind: 'described',
    behaviour:
      'The registry is safe under concurrent use and can add a skill, replace it by name, tell whether it contains a name, and list all skills.',
  },
  {
    id: 'CRAB-08',
    kind: 'described',
    behaviour: 'Agents reach skills through one tool, whose input is an object with the string `name`.',
  },
  {
    id: 'CRAB-09',
    kind: 'described',
    behaviour: 'The tool first checks the scope: a scoped agent is refused a name outside of it.',
  },
  {
    id: 'CRAB-10',
    kind: 'described',
    behaviour: 'The tool then refuses any name that contains `..`, `/` or a backslash.',
  },
  {
    id: 'CRAB-11',
    kind: 'described',
    behaviour:
      'The tool then looks for `{dir}/{name}/SKILL.md` in each directory; what it finds is parsed, put into the registry, and its body is returned.',
  },
  {
    id: 'CRAB-12',
    kind: 'described',
    behaviour:
      'Without an exact hit the tool searches names and descriptions for the input; an empty input lists all skills, and both keep to the scope.',
  },
  {
    id: 'CRAB-13',
    kind: 'described',
    behaviour:
      'Each invocation reads the skill afresh from disk and updates the registry, so an edit counts at once and without a restart.',
  },
  {
    id: 'CRAB-14',
    kind: 'described',
    behaviour:
      'A leading `/skill-name` in a message is resolved from disk before the agent sees the message, and its body is put in, wrapped in a `<skill>` tag; no tool call takes place.',
  },
  {
    id: 'CRAB-15',
    kind: 'described',
    behaviour:
      'A scope with names allows those skills only, an empty scope allows all; this holds for exact loads, fuzzy lists and slash commands.',
  },
  {
    id: 'CRAB-16',
    kind: 'described',
    behaviour:
      'A skill needs neither a code plug-in nor a database entry: the registry is rebuilt from the files within milliseconds.',
  },
  {
    id: 'CRAB-17',
    kind: 'described',
    behaviour:
      'Two open questions are answered: a skill can receive arguments, and `allowed-tools` can be ignored, advised or enforced at run time.',
  },
  {
    id: 'CRAB-X01',
    kind: 'beyond',
    behaviour:
      'An exact load returns the body, a blank line and `Skill directory: <path>`; a fuzzy result has lines `name: description`, and no result reads `no skills found`.',
  },
  {
    id: 'CRAB-X02',
    kind: 'beyond',
    behaviour:
      'Refusals are told apart by their text: skill not available, invalid skill name, failed to parse skill, and invalid arguments, each with its detail.',
  },
  {
    id: 'CRAB-X03',
    kind: 'beyond',
    behaviour:
      'A slash expansion gives the remaining text, a blank line and the `<skill>` block, or the block alone; leading whitespace is ignored, and an unknown, unscoped or broken name leaves the message unchanged.',
  },
  {
    id: 'CRAB-X04',
    kind: 'beyond',
    behaviour:
      'A catalogue in the system prompt lists the skills in scope as `- name: description` and says that a `<skill>` block is already loaded; scoped agents are told their scope and get only allowed tools.',
    declined: 'docs/decisions/2026-11-22-beyond-the-documents.md',
  },
  {
    id: 'CRAB-X05',
    kind: 'beyond',
    behaviour:
      'Missing directories are tolerated and unparsable files skipped with a warning; license, compatibility, metadata and allowed-tools are read, and the description can be made optional.',
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
      'Single skills and whole external sources can be disabled, the usual external roots are known, each skill names its source, and conflicts are reported with both directories.',
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
      'Listing reads no bodies and comes in pages; a miss is an answer that names the size of the catalogue; scope holds before dispatch and in lists; skills can be put and removed.',
  },
  {
    id: 'CRAB-X10',
    kind: 'beyond',
    behaviour:
      'Completion after `/` offers built-in commands and skill names, and an unknown slash name is passed on.',
    declined: 'docs/decisions/2026-11-22-beyond-the-documents.md',
  },
  {
    id: 'CRAB-B01',
    kind: 'mistake',
    behaviour:
      'A scoped agent that asks with an empty or partial name receives the matching skills of its scope.',
  },
  {
    id: 'CRAB-B02',
    kind: 'mistake',
    behaviour:
      'Every listed skill can be loaded by its name and by slash, also when it is nested or its directory has another name, and is kept under one identity.',
  },
  {
    id: 'CRAB-B03',
    kind: 'mistake',
    behaviour:
      'A disabled skill cannot be reached by name or slash either, and a deleted skill leaves the fuzzy list.',
  },
  {
    id: 'CRAB-B04',
    kind: 'mistake',
    behaviour:
      'A slash name ends at whitespace or the end of the message: `/greet_foo` does not call the skill `greet`.',
  },
  {
    id: 'CRAB-B05',
    kind: 'mistake',
    behaviour: 'Files with CRLF line ends give the same values and body as files with LF.',
  },
  {
    id: 'CRAB-B06',
    kind: 'mistake',
    behaviour:
      'An end-to-end test proves that an edited skill file shows up in a running process without a restart.',
  },
  {
    id: 'CRAB-B07',
    kind: 'mistake',
    behaviour:
      'A name exists only once in the registry, and replacing a skill leaves the order of the list unchanged.',
  },
] as const satisfies readonly Requirement[]
