import { signal } from '@preact/signals'

/** The view that the page shows. The address contains the view, so that browser history and bookmarks work. */
export type Route =
  | { readonly view: 'skills'; readonly name?: string }
  | { readonly view: 'timeline' }
  | { readonly view: 'sessions' }
  | { readonly view: 'sources' }
  | { readonly view: 'fleet' }

export const route = signal<Route>({ view: 'skills' })

/** Updates the route at each change of the address. */
export function followAddress(): void {
  const read = (): void => {
    route.value = parse(location.hash)
  }
  addEventListener('hashchange', read)
  read()
}

export function toHash(target: Route): string {
  if (target.view !== 'skills') return `#/${target.view}`
  return target.name === undefined ? '#/skills' : `#/skills/${encodeURIComponent(target.name)}`
}

export function go(target: Route): void {
  location.hash = toHash(target)
}

function parse(hash: string): Route {
  const [view, name] = hash.replace(/^#\/?/, '').split('/')
  if (view === 'timeline' || view === 'sessions' || view === 'sources' || view === 'fleet') return { view }
  try {
    return name === undefined || name === ''
      ? { view: 'skills' }
      : { view: 'skills', name: decodeURIComponent(name) }
  } catch {
    return { view: 'skills' } // the address has a malformed escape
  }
}
