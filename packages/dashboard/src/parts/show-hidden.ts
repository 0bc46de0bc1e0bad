import { showHiddenText } from '@skillstoke/core'
import { type ComponentChildren, options } from 'preact'

/**
 * Shows invisible characters as text such as `<U+200B>`. This applies to every component, because the function hooks
 * into the renderer.
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
