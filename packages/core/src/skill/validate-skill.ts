import { COLLECTION_STYLE, EVENT_ID, parseEvents } from 'js-yaml'
import { checkOptions, type KnownOptions } from '../options.ts'
import { quote } from '../quote.ts'
import { isChangedValue } from './changed-values.ts'
import { adviseUnknown } from './deciding-fields.ts'
import type { Diagnostic, DiagnosticCode } from './diagnostic.ts'
import { parseFrontmatter, type SplitSkillText, splitSkillText, toFields } from './frontmatter.ts'
import { readInvocationField } from './invocation.ts'
import { DEFAULT_LIMITS } from './limits.ts'
import { readSkillText } from './read-skill-text.ts'
import { MAX_COMPATIBILITY_LENGTH, MAX_DESCRIPTION_LENGTH, SPECIFIED_FIELDS } from './skill-fields.ts'
import { findNameFaults, normalizeName } from './skill-name.ts'
import { loadYaml } from './yaml-text.ts'

interface ValidateSkillOptions {
  readonly directoryName?: string
  readonly path?: string
}

const KNOWN: KnownOptions<ValidateSkillOptions> = { directoryName: true, path: true }
const FIELDS: readonly string[] = SPECIFIED_FIELDS

/**
 * Validates a SKILL.md against the agentskills.io specification. The rules follow its reference validator
 * (`skills-ref`) case by case: every scalar is text, only the six specified fields are allowed, flow collections are
 * refused, names are compared in NFKC, lengths are counted in code points, and all findings are reported together. Two
 * rules differ from the reference validator, because the reference validator is wrong: `---` inside a value does not
 * end the frontmatter, and a byte order mark is tolerated.
 *
 * The skill is valid if the returned list contains no errors. Nothing is repaired: faults that `parseSkill` tolerates
 * are errors here.
 * @throws {SkillError} INVALID_OPTION
 *
 * @example
 * ```ts
 * import { readFile } from 'node:fs/promises'
 * import { validateSkill } from '@skillstoke/core'
 *
 * const bytes = await readFile('skills/support-pdf/SKILL.md')
 * console.log(validateSkill(bytes, { directoryName: 'support-pdf' })) // prints []
 * console.log(validateSkill(bytes, { directoryName: 'other' }).map(({ code }) => code))
 * // prints [ 'NAME_DIRECTORY_MISMATCH' ]
 * ```
 */
export function validateSkill(bytes: Uint8Array, options: ValidateSkillOptions = {}): Diagnostic[] {
  checkOptions('validateSkill()', options, KNOWN)
  const { diagnostics } = readSkillText(bytes, {
    limits: DEFAULT_LIMITS,
    split: splitSkillText,
    read: parts => ({ ok: false, diagnostics: validateParts(parts, options.directoryName) }),
  })
  const { path } = options
  return diagnostics.map(diagnostic => (path === undefined ? diagnostic : { path, ...diagnostic }))
}

function validateParts(
  { frontmatter, frontmatterLine: firstLine }: SplitSkillText,
  directoryName: string | undefined,
): readonly Diagnostic[] {
  const found = parseFrontmatter(frontmatter, firstLine).diagnostics
  const faults = found.filter(({ code }) => code === 'YAML_INVALID' || code === 'YAML_REPAIRED')
  const yaml: readonly Diagnostic[] =
    faults.length === 0
      ? validateYaml(frontmatter, firstLine, directoryName)
      : faults.map(fault => ({ ...fault, code: 'YAML_INVALID', severity: 'error' }))
  return [...yaml, ...found.filter(isChangedValue)]
}

function validateYaml(
  frontmatter: string,
  firstLine: number,
  directoryName: string | undefined,
): Diagnostic[] {
  const loaded = loadYaml(frontmatter, firstLine)
  if (!loaded.ok) return [loaded.fault]
  const flow = findFlowCollection(frontmatter)
  if (flow !== undefined) {
    return [
      error(
        'YAML_FLOW_STYLE',
        'the frontmatter uses "[...]" or "{...}"; the reference validator accepts only indented lines',
        firstLine + flow,
      ),
    ]
  }
  const fields = toFields(loaded.value, firstLine)
  if (!fields.ok) return [...fields.diagnostics]
  const lineOf = (key: string): number => {
    const index = frontmatter
      .split('\n')
      .findIndex(line => line.startsWith(`${key}:`) || line.startsWith(`${key} :`))
    return firstLine + Math.max(0, index)
  }
  return validateFields(fields.value, directoryName, lineOf)
}

function validateFields(
  fields: ReadonlyMap<string, unknown>,
  directoryName: string | undefined,
  lineOf: (key: string) => number,
): Diagnostic[] {
  const found: Diagnostic[] = []
  for (const [key, value] of fields) {
    const finding = readInvocationField(key, value)?.finding
    if (finding !== undefined) found.push({ ...finding, line: lineOf(key), column: 1 })
    if (!FIELDS.includes(key)) {
      found.push(
        error(
          'FIELD_UNKNOWN',
          `${quote(key)} is not a field of the specification (${FIELDS.join(', ')})`,
          lineOf(key),
          adviseUnknown(key),
        ),
      )
    }
  }
  const name = fields.get('name')
  if (typeof name !== 'string' || name.trim() === '') {
    found.push(error('NAME_MISSING', '"name" is missing or empty', lineOf('name'), 'add "name: my-skill"'))
  } else found.push(...validateName(name, directoryName, lineOf('name')))
  const description = fields.get('description')
  if (typeof description !== 'string' || description.trim() === '') {
    found.push(
      error(
        'DESCRIPTION_MISSING',
        '"description" is missing or empty',
        lineOf('description'),
        'say what the skill does and when to use it',
      ),
    )
  } else
    found.push(
      ...validateLength('DESCRIPTION_TOO_LONG', 'description', description, MAX_DESCRIPTION_LENGTH, lineOf),
    )
  const compatibility = fields.get('compatibility')
  if (typeof compatibility === 'string') {
    found.push(
      ...validateLength(
        'COMPATIBILITY_TOO_LONG',
        'compatibility',
        compatibility,
        MAX_COMPATIBILITY_LENGTH,
        lineOf,
      ),
    )
  } else if ((fields.get('compatibility') ?? null) !== null) {
    found.push(error('FIELD_TYPE', '"compatibility" must be text', lineOf('compatibility')))
  }
  return found
}

function validateName(given: string, directoryName: string | undefined, line: number): Diagnostic[] {
  const name = normalizeName(given)
  const found = findNameFaults(name).map(fault =>
    error('NAME_INVALID', `skill name ${quote(name)} ${fault}`, line),
  )
  if (directoryName !== undefined && directoryName.normalize('NFKC') !== name) {
    found.push(
      error(
        'NAME_DIRECTORY_MISMATCH',
        `skill name ${quote(name)} differs from its folder ${quote(directoryName)}`,
        line,
        'give both the same name',
      ),
    )
  }
  return found
}

function validateLength(
  code: DiagnosticCode,
  key: string,
  text: string,
  most: number,
  lineOf: (key: string) => number,
): Diagnostic[] {
  const length = [...text].length
  return length <= most
    ? []
    : [
        error(
          code,
          `"${key}" has ${length} characters; at most ${most} are allowed`,
          lineOf(key),
          'shorten it',
        ),
      ]
}

/** Returns the line of the first flow collection, counted from 0 within the text, or `undefined`. */
function findFlowCollection(yaml: string): number | undefined {
  for (const event of parseEvents(yaml, {})) {
    const isCollection = event.type === EVENT_ID.SEQUENCE || event.type === EVENT_ID.MAPPING
    if (isCollection && event.style === COLLECTION_STYLE.FLOW)
      return yaml.slice(0, event.start).split('\n').length - 1
  }
  return undefined
}

function error(code: DiagnosticCode, message: string, line: number, fix?: string): Diagnostic {
  return { code, severity: 'error', message, line, column: 1, ...(fix === undefined ? {} : { fix }) }
}
