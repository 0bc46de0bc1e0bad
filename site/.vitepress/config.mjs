import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { search } from './search.mjs'

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
    search: { provider: 'local', options: { miniSearch: search } },
    outline: [2, 3],
    socialLinks: [{ icon: 'github', link: repository }],
    nav: [
      { text: 'Start', link: '/first-skill' },
      { text: 'API', link: '/api/' },
      { text: 'Command line', link: '/cli-reference' },
      { text: 'Codes', link: '/diagnostics' },
    ],
    sidebar: [
      { text: 'Start', items: ['first-skill', 'live-skills', 'team', 'why'].map(item) },
      {
        text: 'Write skills',
        items: [
          ...['skills', 'descriptions', 'testing-skills', 'check-skills', 'author-walk'].map(item),
          { text: 'In your editor', link: '/check-skills#see-findings-while-you-type' },
          { text: 'In CI', link: '/check-skills#check-pull-requests' },
          ...['dev-server', 'troubleshooting'].map(item),
        ],
      },
      { text: 'Agent SDKs', items: [...['agent-sdks', 'overlap-and-forks'].map(item), ...itemsOf('sdks')] },
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
      { text: 'Serve', items: ['mcp', 'fleet', 'fleet-deployment'].map(item) },
      { text: 'Operate', items: ['cli', 'sources', 'trust', 'traces', 'platforms'].map(item) },
      { text: 'Move from', collapsed: true, items: itemsOf('moving') },
      {
        text: 'Reference',
        items: [
          { text: 'API', link: '/api/', collapsed: true, items: itemsOf('api') },
          ...['cli-reference', 'checks', 'diagnostics', 'errors', 'glossary'].map(item),
        ],
      },
      { text: 'Contribute', items: [item('architecture'), item('recipes'), item('design/page')] },
      { text: 'Decisions', collapsed: true, items: itemsOf('decisions') },
    ],
  },
}
