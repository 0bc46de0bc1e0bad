import { showHiddenText } from '@skillstoke/core'
import { type ComponentChildren, options } from 'preact'

/**
 * Makes every rendered text show invisible characters as `<U+200B>`. Hooks into the renderer, so that this applies to
 * every component.
 */
export function showHiddenEverywhere(): void {
  const next = options.vnode?.bind(options)
  options.vnode = vnode => {
    const props = vnode.props as { children?: ComponentChildren }
    if (props.children !== undefined) props.children = show(props.children)
    next?.(vnode)
  }
}

function show(children: ComponentChildren): ComponentChildren {
  if (typeof children === 'string') return showHiddenText(children)
  return Array.isArray(children) ? children.map(show) : children
}
