import { signal } from '@preact/signals'

export const SKILL_TABS = ['skill', 'tests', 'changes', 'files'] as const
export type SkillTab = (typeof SKILL_TABS)[number]

const VIEWS = ['overview', 'skills', 'agents', 'changes', 'fleet'] as const
export type ViewName = (typeof VIEWS)[number]

/** The view that the page shows. The address contains all of it, so that browser history and bookmarks work. */
export interface Route {
  readonly view: ViewName
  /** A skill by its name or target, or a conversation by its id. */
  readonly chosen?: string
  /** Absent if the person has chosen no tab. */
  readonly tab?: SkillTab
  /** Filters and the order of a list. */
  readonly query: Readonly<Record<string, string>>
}

export const route = signal<Route>({ view: 'overview', query: {} })

/** Updates the route at each change of the address. */
export function followAddress(): void {
  const read = (): void => {
    route.value = parse(location.hash)
  }
  addEventListener('hashchange', read)
  read()
}

export function toHash({ view, chosen, tab, query }: Partial<Route> & Pick<Route, 'view'>): string {
  const path = [view === 'overview' ? '' : view, chosen, tab].filter(each => each !== undefined)
  const text = new URLSearchParams(query).toString()
  return `#/${path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`
}

export function go(target: Partial<Route> & Pick<Route, 'view'>): void {
  location.hash = toHash(target)
  // The event about the new address comes later, and the next key may come first.
  route.value = parse(location.hash)
}

/** Opens an address without a new step in the history of the browser. */
export function goQuietly(hash: string): void {
  history.replaceState(null, '', hash)
  route.value = parse(location.hash)
}

/** Returns the address of a skill. Filters and the order of the list stay. */
export function toSkill(chosen: string, tab?: SkillTab): string {
  const { view, query } = route.value
  // The shown file belongs to the skill before.
  const { file: _file, ...filters } = query
  return toHash({ view: 'skills', chosen, ...(tab && { tab }), query: view === 'skills' ? filters : {} })
}

/** Returns the address of the same view with another filter. An empty text removes the filter. */
export function toFiltered(changes: Readonly<Record<string, string>>): string {
  const query = Object.entries({ ...route.value.query, ...changes }).filter(([, value]) => value !== '')
  return toHash({ ...route.value, query: Object.fromEntries(query) })
}

/** Returns what the address chooses from a table, whose first entry is the default. */
export function chosenIn<T>(
  table: Readonly<Record<string, T>>,
  parameter: string,
): readonly [name: string, value: T] {
  const entries = Object.entries(table)
  const wanted = route.value.query[parameter]
  return (entries.find(([name]) => name === wanted) ?? entries[0]) as [string, T]
}

/** Changes a filter. */
export function filterBy(changes: Readonly<Record<string, string>>): void {
  goQuietly(toFiltered(changes))
}

function parse(hash: string): Route {
  const [path = '', text = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/)
  const query = Object.fromEntries(new URLSearchParams(text))
  const [name = '', chosen, tab] = path.split('/').map(decode)
  const view = VIEWS.find(each => each === name) ?? 'overview'
  const known = SKILL_TABS.find(each => each === tab)
  return { view, query, ...(chosen && { chosen }), ...(known && { tab: known }) }
}

/** A malformed escape is no name of anything. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}
