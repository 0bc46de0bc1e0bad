import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const repository = 'https://github.com/skillstoke/skillstoke'
const pages = process.env.SITE_PAGES ?? '../docs'

/** Returns the first heading of a page. */
function titleOf(path) {
  return /^# (.+)$/m.exec(readFileSync(join(pages, path), 'utf8'))?.[1] ?? path
}

function item(name) {
  return { text: titleOf(`${name}.md`).replaceAll('`', ''), link: `/${name}` }
}

function itemsOf(folder) {
  const names = readdirSync(join(pages, folder)).filter(name => name.endsWith('.md') && name !== 'index.md')
  return names.sort().map(name => item(`${folder}/${name.slice(0, -3)}`))
}

/**
 * Ranks search results: guides and codes first, then pages for contributors, and pages of the API last. The id of a
 * search result contains the path of its page.
 */
const rank = id =>
  id.includes('/api/') ? 0.2 : /\/(?:decisions|recipes|architecture|contributing)\b/i.test(id) ? 0.3 : 1

// biome-ignore lint/style/noDefaultExport: VitePress requires it
export default {
  title: 'Skillstoke',
  description: 'Live skills for running AI agents',
  srcDir: pages,
  outDir: process.env.SITE_OUTPUT ?? '.tmp/html',
  cacheDir: '.tmp/cache',
  cleanUrls: true,
  lastUpdated: false,
  themeConfig: {
    // Search results from guides come first, because API pages repeat many words.
    search: { provider: 'local', options: { miniSearch: { searchOptions: { boostDocument: rank } } } },
    outline: [2, 3],
    socialLinks: [{ icon: 'github', link: repository }],
    nav: [
      { text: 'Start', link: '/first-skill' },
      { text: 'API', link: '/api/' },
      { text: 'Command line', link: '/cli-reference' },
      { text: 'Codes', link: '/diagnostics' },
    ],
    sidebar: [
      { text: 'Start', items: ['first-skill', 'skills', 'check-skills', 'troubleshooting'].map(item) },
      { text: 'Agent SDKs', items: [item('agent-sdks'), ...itemsOf('sdks')] },
      {
        text: 'Embed in an agent',
        items: [
          'reference-agent',
          'telegram',
          'agents',
          'running-agents',
          'slash-commands',
          'scripts',
          'writing-skills',
          'skills-per-request',
          'file-systems',
          'policies',
        ].map(item),
      },
      { text: 'Serve over MCP', items: ['mcp'].map(item) },
      { text: 'Operate', items: ['cli', 'dev-server', 'sources', 'trust', 'platforms'].map(item) },
      { text: 'Move from', collapsed: true, items: itemsOf('moving') },
      {
        text: 'Reference',
        items: [
          { text: 'API', link: '/api/', collapsed: true, items: itemsOf('api') },
          ...['cli-reference', 'checks', 'diagnostics', 'errors', 'glossary'].map(item),
        ],
      },
      { text: 'Contribute', items: [item('architecture'), item('recipes')] },
      { text: 'Decisions', collapsed: true, items: itemsOf('decisions') },
    ],
  },
}
