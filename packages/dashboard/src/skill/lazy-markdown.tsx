import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type * as Module from './markdown.tsx'

const loaded = signal<typeof Module | undefined>(undefined)

/** Renders Markdown. Its parser is loaded with the first text, because the overview needs none. */
export function Markdown(props: Parameters<typeof Module.Markdown>[0]): ComponentChildren {
  if (loaded.value === undefined) {
    void import('./markdown.tsx').then(module => (loaded.value = module))
    return <p class="s m none">Loading …</p>
  }
  return <loaded.value.Markdown {...props} />
}
