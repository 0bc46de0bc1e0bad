import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

// Asks the search of the built site what a newcomer asks, and returns which questions do not find their page first.

/** Questions, each with the page that answers it. */
const QUESTIONS: readonly (readonly [question: string, page: string])[] = [
  ['create a skill', 'first-skill'],
  ['how to write a good description', 'descriptions'],
  ['why is my skill not loaded', 'troubleshooting'],
  ['test a skill', 'testing-skills'],
  ['check skills in CI', 'check-skills'],
  ['use it in my editor', 'check-skills'],
  ['share skills with my team', 'team'],
  ['add skills to my agent', 'agents'],
  ['live skills in ten minutes', 'live-skills'],
  ['use skills with the ai sdk', 'sdks/ai-sdk'],
  ['next.js usechat', 'sdks/nextjs'],
  ['connect claude code', 'mcp'],
  ['how do I undo a change', 'trust'],
  ['approve a change', 'trust'],
  ['what is the difference to the skills cli', 'why'],
]

interface Search {
  readonly search: (text: string, options: object) => readonly { readonly id: string }[]
}

interface SearchSettings {
  readonly options: object
  readonly searchOptions: object
}

/** @returns one line for each question whose first result is another page */
export async function checkSearch(html: string): Promise<{ questions: number; wrong: readonly string[] }> {
  const require = createRequire(import.meta.url)
  const MiniSearch = require('minisearch') as {
    loadJSON: (index: string, options: object) => Search
  }
  const settingsFile = join(import.meta.dirname, '.vitepress/search.mjs')
  const { search: settings } = (await import(pathToFileURL(settingsFile).href)) as { search: SearchSettings }
  const chunks = join(html, 'assets/chunks')
  const file = readdirSync(chunks).find(name => name.startsWith('@localSearchIndexroot'))
  if (file === undefined) throw new Error(`no search index in ${chunks}`)
  const { default: index } = (await import(pathToFileURL(join(chunks, file)).href)) as { default: string }
  // The fields are those of VitePress.
  const engine = MiniSearch.loadJSON(index, {
    fields: ['title', 'titles', 'text'],
    storeFields: ['title', 'titles'],
    ...settings.options,
  })
  const wrong = QUESTIONS.flatMap(([question, page]) => {
    const results = engine.search(question, settings.searchOptions).map(({ id }) => pageOf(id))
    const place = [...new Set(results)].indexOf(page) + 1
    return place === 1
      ? []
      : [`the search for "${question}" finds ${results[0] ?? 'nothing'} first; ${page} has place ${place}`]
  })
  return { questions: QUESTIONS.length, wrong }
}

function pageOf(id: string): string {
  return id.replace(/^\//, '').replace(/(?:\.html)?(?:#.*)?$/, '')
}
