import { writeFileSync } from 'node:fs'
import { findCitations, renderRequirements } from '../tests/requirements/coverage.ts'

// Writes tests/requirements/README.md from the requirement rows and from the tests that cite these rows.

const page = renderRequirements(findCitations())
writeFileSync('tests/requirements/README.md', page)
console.log(page.trimEnd().split('\n').at(-1))
