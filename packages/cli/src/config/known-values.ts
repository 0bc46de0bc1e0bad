// Values from other packages, for help texts and option checks. `scripts/bundle.ts` copies these values into the
// command line, so that `stoke --help` loads no other package. Export only plain values here, because an instance of a
// copied class is not an instance of the original class.
export { PROFILES } from '@skillstoke/author'
export { REPORT_FORMATS, SKILL_TEMPLATES } from '@skillstoke/author/internal'
export {
  CALL_TIMEOUT_MS,
  CAPABILITY_FORMS,
  CATALOG_FORMAT_NAMES,
  DECISION_VERBS,
  DEFAULT_CATALOG,
  DEFAULT_HISTORY_LENGTH,
  defined,
  EXPLANATION_STEPS,
  editDistance,
  GRANT_VERBS,
  SKILL_STATUSES,
  VISIBILITIES,
} from '@skillstoke/core/internal'
export { defaultStateDirectory } from '@skillstoke/core/node'
export { RETRIEVAL_MODES } from '@skillstoke/mcp/source'
export { DEFAULT_SCRIPT_RUNNER_OPTIONS, SANDBOX_MODES } from '@skillstoke/scripts'
export { GIT_UPDATES } from '@skillstoke/sources'
