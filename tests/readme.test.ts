import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { stoke } from './fixtures/cli.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

const PAGES = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'bench/README.md',
  'SECURITY.md',
  ...readdirSync('packages')
    .map(name => `packages/${name}/README.md`)
    .filter(path => existsSync(path)),
  ...readdirSync('docs', { recursive: true })
    .map(String)
    .filter(name => name.endsWith('.md'))
    .map(name => `docs/${name}`),
]

function fencesOf(page: string, language: string): string[] {
  return [
    ...readFileSync(page, 'utf8').matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm')),
  ].map(match => match[1] ?? '')
}

describe('the pages', () => {
  const examples = PAGES.flatMap(page =>
    fencesOf(page, 'ts').map((code, index) => ({ name: `${page} ${index + 1}`, code })),
  )

  test.each(examples)('the example $name of a page runs', ({ code }) => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/support-pdf')
    // The file is inside the repository so that package names resolve. The working directory is a temporary folder.
    const file = resolve('.tmp', `example-${process.pid}.ts`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, code)
    const run = spawnSync(process.execPath, [file], {
      cwd: folder.path,
      encoding: 'utf8',
      env: { ...process.env, XDG_STATE_HOME: folder.at('state') },
    })
    expect(run.stderr).toBe('')
    expect(run.status).toBe(0)
  })

  test('at least one page has an example that this test can run', () => {
    expect(examples.length).toBeGreaterThanOrEqual(4)
  })

  test('pages name only npm scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      scripts: Record<string, string>
    }
    const named = PAGES.flatMap(page =>
      [
        ...readFileSync(page, 'utf8').matchAll(
          /npm (?:run )?(start|check|test:watch|test:only|test|bench|format|changeset|soak|torture|requirements|cli-reference|docs|pictures)\b/g,
        ),
      ].map(match => match[1] ?? ''),
    )
    expect(named.length).toBeGreaterThan(5)
    expect(named.filter(name => scripts[name] === undefined)).toEqual([])
  })

  test('pages name only verbs that exist', () => {
    const verbs = new Set(
      PAGES.flatMap(page =>
        [...readFileSync(page, 'utf8').matchAll(/(?:npx skillstoke|`stoke) ([a-z]+)/g)].map(
          match => match[1] ?? '',
        ),
      ),
    )
    expect(verbs.size).toBeGreaterThanOrEqual(7)
    for (const verb of verbs) expect(stoke([verb, '--help']).status, verb).toBe(0)
  })

  test('pages link only to files that exist', () => {
    const broken = PAGES.flatMap(page =>
      [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#]+)/g)].map(match =>
        join(dirname(page), match[1] ?? ''),
      ),
    ).filter(target => !existsSync(target))
    expect(broken).toEqual([])
  })
})
