import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PAGES } from './fixtures/pages.ts'

const REPOSITORY = 'https://github.com/skillstoke/skillstoke'
const PACKAGES = PAGES.filter(page => page.startsWith('packages/'))
const ALL = [
  ...PAGES,
  'tests/requirements/README.md',
  ...readdirSync('examples')
    .map(name => `examples/${name}/README.md`)
    .filter(path => existsSync(path)),
]

/** A link to a file of this repository. */
interface Link {
  readonly href: string
  /** The path from the root of the repository. */
  readonly path: string
  readonly anchor: string
}

/** Returns the text of a page without code, because code contains brackets and number signs that are no links or headings. */
function readProse(page: string): string {
  return readFileSync(page, 'utf8').replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '')
}

/** Returns the links of a page to files of this repository, including links that name the repository on GitHub. */
function linksOf(page: string): Link[] {
  return [
    ...readProse(page)
      .replaceAll(/`[^`\n]*`/g, '')
      .matchAll(/\]\(([^)\s]+)\)/g),
  ].flatMap(([, href = '']) => {
    const [address = '', anchor = ''] = href.split('#')
    if (address === REPOSITORY) return { href, path: 'README.md', anchor: anchor === 'readme' ? '' : anchor }
    if (address.startsWith(`${REPOSITORY}/blob/main/`))
      return { href, path: address.slice(`${REPOSITORY}/blob/main/`.length), anchor }
    if (/^(?:https?|mailto):/.test(address)) return []
    return { href, path: address === '' ? page : join(dirname(page), address), anchor }
  })
}

/** Returns the anchors that GitHub gives to the headings of a page. */
function anchorsOf(page: string): ReadonlySet<string> {
  const counts = new Map<string, number>()
  const anchors = [...readProse(page).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => {
    const text = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .trim()
      .toLowerCase()
    const anchor = text.replaceAll(/[^\p{L}\p{N}\p{M}\p{Pc} -]/gu, '').replaceAll(' ', '-')
    const count = counts.get(anchor) ?? 0
    counts.set(anchor, count + 1)
    return count === 0 ? anchor : `${anchor}-${count}`
  })
  return new Set(anchors)
}

describe('the links of the pages', () => {
  test('every link leads to a file of this repository, and every anchor leads to a heading', () => {
    const links = ALL.flatMap(page => linksOf(page).map(link => ({ page, ...link })))
    const broken = links.filter(
      ({ path, anchor }) => !existsSync(path) || (anchor !== '' && !anchorsOf(path).has(anchor)),
    )
    expect(links.length).toBeGreaterThan(300)
    expect(links.filter(({ anchor }) => anchor !== '').length).toBeGreaterThan(50)
    expect(broken.map(({ page, href }) => `${page}: ${href}`)).toEqual([])
  })

  test.each(PACKAGES)('%s links to the documentation and to a fitting page', page => {
    const hrefs = linksOf(page).map(({ href }) => href)
    expect(hrefs).toContain(`${REPOSITORY}#readme`)
    expect(hrefs).toContainEqual(expect.stringContaining(`${REPOSITORY}/blob/main/docs/`))
    // npm shows this page, and does not know the other files of the repository.
    expect(hrefs.filter(href => !href.startsWith('https:'))).toEqual([])
  })
})
