/** The codes of all findings. Codes are stable. Messages may be reworded. */
export type DiagnosticCode =
  // The text of SKILL.md
  | 'ENCODING_NOT_UTF8'
  | 'BYTE_ORDER_MARK'
  | 'TEXT_BEFORE_FRONTMATTER'
  | 'FRONTMATTER_MISSING'
  | 'FRONTMATTER_UNCLOSED'
  | 'FRONTMATTER_TOO_LARGE'
  | 'FRONTMATTER_NOT_A_MAP'
  | 'YAML_INVALID'
  | 'YAML_FLOW_STYLE'
  | 'YAML_REPAIRED'
  | 'SKILL_FILE_TOO_LARGE'
  | 'BODY_EMPTY'
  | 'HIDDEN_TEXT'
  | 'CONFLICT_MARKERS'
  // Fields
  | 'NAME_MISSING'
  | 'NAME_INVALID'
  | 'NAME_UNSAFE'
  | 'NAME_DIRECTORY_MISMATCH'
  | 'DESCRIPTION_MISSING'
  | 'DESCRIPTION_TOO_LONG'
  | 'COMPATIBILITY_TOO_LONG'
  | 'FIELD_ALIAS'
  | 'FIELD_TYPE'
  | 'FIELD_UNKNOWN'
  | 'FIELD_FORBIDDEN'
  | 'VALUE_CUT_BY_COMMENT'
  | 'VALUE_RETYPED'
  | 'BOOLEAN_AS_TEXT'
  // The folder
  | 'SKILL_FILE_MISSING'
  | 'SKILL_FILE_UNREADABLE'
  | 'FILE_UNREADABLE'
  | 'FILE_SKIPPED'
  | 'SECRET_FILE'
  | 'DEPENDENCY_FOLDER'
  | 'LINK_REFUSED'
  | 'TOO_MANY_FILES'
  | 'FOLDER_TOO_LARGE'
  | 'FOLDER_TOO_DEEP'
  | 'FOLDER_UNSTABLE'
  | 'PATH_COLLISION'
  | 'IGNORE_FILE_INVALID'
  // Scripts
  | 'SCRIPT_INVALID'
  | 'SCRIPT_FAILED'
  | 'IMPORT_REFUSED'
  | 'IMPORT_MISSING'
  | 'COMMAND_INVALID'
  | 'CAPABILITY_UNKNOWN'
  | 'CAPABILITY_NOT_GRANTED'
  // The source
  | 'ROOT_MISSING'
  | 'SOURCE_FAILED'
  | 'STORE_FAILED'
  | 'DIRECTORY_UNREADABLE'
  | 'SCAN_BUDGET_EXCEEDED'
  | 'SOURCE_AWAITED'
  | 'HISTORY_REWRITTEN'
  | 'REF_MISSING'
  | 'PATH_MISSING'
  | 'ENTRY_REFUSED'
  // The registry
  | 'SKILL_SHADOWED'
  | 'NAME_LOOKALIKE'
  | 'REVISION_HELD'
  | 'REVISION_PINNED'
  | 'REVISION_LOST'
  | 'SKILL_DISABLED'
  | 'DECISIONS_LOST'

/** The values of `Severity`. */
export const SEVERITIES = ['error', 'warning', 'info'] as const

export type Severity = (typeof SEVERITIES)[number]

/**
 * One finding about a skill or a source. Diagnostics are shown and never thrown. Checks outside of the core have codes of
 * their own.
 */
export interface Diagnostic<Code extends string = DiagnosticCode> {
  readonly code: Code
  /**
   * `error`: the newest text or commands of a skill, or the newest contents of a source, are not served. `warning`:
   * the skill is served despite a fault, or a decision blocks its newest revision. `info`: a remark.
   */
  readonly severity: Severity
  /** Says what the problem is, which value is faulty, and what would be valid. */
  readonly message: string
  /** Path of the faulty file, in the form that the source shows to people. */
  readonly path?: string
  /** Counted from 1. */
  readonly line?: number
  /** Column of the fault, counted from 1 in UTF-16 code units. */
  readonly column?: number
  /** Tells a person how to correct the fault. */
  readonly fix?: string
}

/** Returns true if the finding is about the scripts of a skill, and false if it is about the text or other files. */
export function isAboutScripts({ code }: Diagnostic): boolean {
  return /^(?:SCRIPT|IMPORT|COMMAND|CAPABILITY)_/.test(code)
}

export function isError(diagnostic: Pick<Diagnostic, 'severity'>): boolean {
  return diagnostic.severity === 'error'
}

/** Returns the known path, line and column of a finding, for example `scripts/a.ts:3:1`. */
export function describePlace({ path, line, column }: Pick<Diagnostic, 'path' | 'line' | 'column'>): string {
  return [path, line, column].filter(part => part !== undefined && part !== '').join(':')
}
