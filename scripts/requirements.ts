import { writeFileSync } from 'node:fs'
import { findCitations, renderRequirements } from '../tests/requirements/coverage.ts'

// Writes docs/requirements.md from the requirements and the tests that cite them.

const page = renderRequirements(findCitations())
writeFileSync('docs/requirements.md', page)
console.log(page.trimEnd().split('\n').at(-1))
