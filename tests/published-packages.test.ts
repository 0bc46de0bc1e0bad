import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix, resolve } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly private?: boolean
  readonly license: string
  readonly keywords: readonly string[]
  readonly homepage: string
  readonly repository: { readonly url: string; readonly directory: string }
  readonly bin?: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly publishConfig: unknown
  readonly dependencies?: Readonly<Record<string, string>>
}

interface Publication {
  readonly files: readonly { readonly path: string; readonly mode: number }[]
  readonly unpackedSize: number
}

interface SourceMap {
  readonly sources: readonly string[]
  readonly sourcesContent: readonly (string | null)[]
}

const readManifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(join('packages', folder, 'package.json'), 'utf8')) as Manifest

const folders = readdirSync('packages').filter(folder => readManifest(folder).private !== true)
const manifests = folders.map(readManifest)

/** An address where no registry answers. */
const NO_REGISTRY = 'http://127.0.0.1:9'

/**
 * Returns what npm would publish. The publication is a dry run, so nothing leaves this machine. With `--force`, npm does
 * not ask the registry whether the version is already published.
 */
function publish(folder: string): Publication {
  const args = ['publish', '--dry-run', '--force', '--json', '--ignore-scripts', '--tag', 'latest']
  const output = execFileSync('npm', [...args, '--registry', NO_REGISTRY], {
    cwd: join('packages', folder),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const published = JSON.parse(output) as Publication | Record<string, Publication>
  return 'files' in published ? (published as Publication) : (Object.values(published)[0] as Publication)
}

/** Matches the comment that the bundler writes before the code of another package. Ignores the helper functions of the bundler itself. */
const BUNDLED = /^\/\/ (?:node_modules\/|\\0(?!rolldown\/))((?:@[\w.-]+[/+])?[\w.-]+)/gm

/** Returns the names of the packages whose code is in the shipped files. */
function bundledPackages(folder: string, paths: readonly string[]): string[] {
  const code = paths.filter(path => path.endsWith('.js'))
  const names = code.flatMap(path =>
    [...readFileSync(join('packages', folder, path), 'utf8').matchAll(BUNDLED)].map(([, name = '']) =>
      name.replace('+', '/'),
    ),
  )
  return [...new Set(names)]
}

const LARGEST_BYTES = 5_000_000
/** Matches code, source maps, declarations, the dashboard page, the programs of `attach` and the usual top-level files of a package. */
const EXPECTED =
  /^(?:package\.json|README\.md|LICENSE|CHANGELOG\.md|(?:skillstoke|frontmatter)\.schema\.json|bin\/\w+\.js|skills\/[\w-]+\/SKILL\.md|dist\/LICENSES\.txt|dist\/attach\/[\w-]+\.txt|dist\/page\/(?:LICENSES\.txt|index\.html|[\w./-]+\.(?:js|css|svg))|dist\/[\w/-]+\.(?:js|js\.map|d\.ts))$/

describe.each(folders)('the publication of packages/%s', folder => {
  const manifest = readManifest(folder)
  let paths: readonly string[]
  let publication: Publication
  const readShipped = (path: string): string => readFileSync(join('packages', folder, path), 'utf8')

  beforeAll(() => {
    publication = publish(folder)
    paths = publication.files.map(({ path }) => path)
  })

  test('the package contains code, declarations and texts, but no tests or sources', () => {
    expect(paths.filter(path => !EXPECTED.test(path))).toEqual([])
    expect(paths.filter(path => /\.test\b|testing\/fixtures|tsbuildinfo/.test(path))).toEqual([])
    for (const text of ['README.md', 'LICENSE', 'CHANGELOG.md']) expect(paths).toContain(text)
    expect(publication.unpackedSize).toBeLessThan(LARGEST_BYTES)
  })

  test('the package has every file that package.json names', () => {
    const named = [
      ...Object.values(manifest.bin ?? {}),
      ...Object.values(manifest.exports).flatMap(target =>
        typeof target === 'string' ? [target] : Object.values(target),
      ),
    ].map(path => posix.normalize(path))
    expect(named.filter(path => !paths.includes(path))).toEqual([])
    const programs = publication.files.filter(({ path }) => path.startsWith('bin/'))
    expect(programs.filter(({ mode }) => (mode & 0o111) === 0)).toEqual([])
  })

  test('the package has every declaration that an entry point imports', () => {
    const seen = new Set<string>()
    const visit = (path: string): void => {
      if (seen.has(path)) return
      seen.add(path)
      const text = readShipped(path)
      for (const [, specifier = ''] of text.matchAll(/(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g))
        visit(posix.join(posix.dirname(path), specifier.replace(/\.(?:js|tsx?)$/, '.d.ts')))
    }
    for (const target of Object.values(manifest.exports))
      if (typeof target !== 'string' && target['types'] !== undefined) visit(posix.normalize(target['types']))
    expect([...seen].filter(path => !paths.includes(path))).toEqual([])
  })

  test('the package has every source map that its code names, and each source map contains its sources', () => {
    const named = paths
      .filter(path => path.endsWith('.js'))
      .flatMap(path =>
        [...readShipped(path).matchAll(/^\/\/# sourceMappingURL=(\S+)/gm)].map(([, url = '']) =>
          posix.join(posix.dirname(path), url),
        ),
      )
    expect(named.length).toBeGreaterThan(0)
    expect(named.filter(path => !paths.includes(path))).toEqual([])
    for (const path of paths.filter(each => each.endsWith('.js.map'))) {
      const map = JSON.parse(readShipped(path)) as SourceMap
      expect(map.sources.length, path).toBeGreaterThan(0)
      expect(map.sourcesContent.every(content => content !== null && content !== '')).toBe(true)
      expect(map.sources.filter(source => resolve('/', dirname(path), source).includes('.test.'))).toEqual([])
    }
  })

  test('the package contains the licence of every package whose code it contains', () => {
    const names = bundledPackages(folder, paths)
    const licenses = paths.filter(path => path === 'dist/LICENSES.txt').map(readShipped)
    expect(names.filter(name => !licenses.some(text => text.includes(`${name} `)))).toEqual([])
    expect(paths.includes('dist/page/LICENSES.txt')).toBe(paths.includes('dist/page/index.html'))
  })

  test('the package.json names licence, repository and keywords', () => {
    expect(manifest).toMatchObject({
      license: 'MIT',
      repository: { url: manifests[0]?.repository.url, directory: `packages/${folder}` },
      homepage: manifests[0]?.homepage,
      publishConfig: { access: 'public', provenance: true },
    })
    expect(manifest.keywords).toEqual(expect.arrayContaining(['agent', 'skills']))
  })
})

test('the test of licences finds the code of every package that we bundle', () => {
  const found = folders.flatMap(folder =>
    bundledPackages(
      folder,
      publish(folder).files.map(({ path }) => path),
    ),
  )
  expect([...new Set(found)].sort()).toEqual(['@noble/hashes', '@oxc-project/runtime', 'gpt-tokenizer'])
})

test('the release workflow makes a dry run that does not depend on published versions', () => {
  const dryRuns = readFileSync('.github/workflows/release.yml', 'utf8').match(/npm publish .*--dry-run.*/g)
  expect(dryRuns).toEqual([expect.stringContaining(' --force ')])
})

test('the release workflow attaches the software bill of materials to each release', () => {
  const text = readFileSync('.github/workflows/release.yml', 'utf8')
  const [release = -1, attach = -1, upload = -1] = [
    /^ +id: release$/m,
    /^ +if: steps\.release\.outputs\.published == 'true'$/m,
    /gh release upload \S+ \.tmp\/sbom\.cdx\.json/,
  ].map(pattern => text.search(pattern))
  expect(text).toContain('> ../sbom.cdx.json')
  expect(release).toBeGreaterThan(0)
  expect([release < attach, attach < upload]).toEqual([true, true])
})

test('all packages have the same version, and each depends on exactly this version of our other packages', () => {
  const [version] = new Set(manifests.map(manifest => manifest.version))
  const names = new Set(manifests.map(({ name }) => name))
  for (const manifest of manifests) {
    expect(manifest.version).toBe(version)
    for (const [name, range] of Object.entries(manifest.dependencies ?? {}))
      if (names.has(name)) expect(range, `${manifest.name} needs ${name}`).toBe(`^${version}`)
  }
})
