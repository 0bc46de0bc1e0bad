import { showHiddenText } from '@skillstoke/core'
import { type ComponentChildren, options } from 'preact'

/**
 * From now on every text that is drawn shows what is hidden in it, as `<U+200B>`: names, descriptions, instructions, differences,
 * whoever wrote them. One place for all, so that none is forgotten.
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
