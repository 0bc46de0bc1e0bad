import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

export interface LinkReport {
  readonly pages: number
  readonly links: number
  /** One line for each link without a target. The line names the page and the link. */
  readonly broken: readonly string[]
}

/** Checks that every link within a built site leads to an existing page, and that the page contains the element that an anchor names. Links to other sites are not checked. */
export function checkLinks(folder: string): LinkReport {
  const pages = readdirSync(folder, { recursive: true })
    .map(String)
    .filter(name => name.endsWith('.html'))
  const anchors = new Map(pages.map(name => [name, anchorsOf(readFileSync(join(folder, name), 'utf8'))]))
  const broken: string[] = []
  let links = 0
  for (const page of pages) {
    const text = readFileSync(join(folder, page), 'utf8')
    for (const [, href = ''] of text.matchAll(/\s(?:href|src)="([^"]*)"/g)) {
      if (/^(?:https?:|mailto:|data:|javascript:)/.test(href)) continue
      links += 1
      const [path = '', anchor = ''] = decodeURI(href.replaceAll('&amp;', '&')).split('#')
      const target = path === '' ? page : toFile(folder, posix.join('/', posix.dirname(page), path), path)
      if (target === undefined) broken.push(`${page}: ${href} leads to no page`)
      else if (anchor !== '' && anchors.get(target)?.has(anchor) === false)
        broken.push(`${page}: ${href} leads to no element`)
    }
  }
  return { pages: pages.length, links, broken }
}

function anchorsOf(html: string): ReadonlySet<string> {
  return new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(match => match[1] ?? ''))
}

/** Returns the file for an address. The address may omit the file ending. */
function toFile(folder: string, relative: string, path: string): string | undefined {
  const address = path.startsWith('/') ? path : relative
  const candidates = [address, `${address}.html`, posix.join(address, 'index.html')]
  return candidates
    .map(each => each.replace(/^\/+/, ''))
    .find(each => each !== '' && !each.endsWith('/') && existsSync(join(folder, each)) && /\.\w+$/.test(each))
}
