import MarkdownIt, { type Token } from 'markdown-it'
import { type ComponentChildren, Fragment, h } from 'preact'
import { go, route } from '../route.ts'

interface MarkdownProps {
  readonly text: string
  /** Files of the shown skill. A link to one of these files shows that file on the page. @default none */
  readonly paths?: readonly string[]
}

/** Parses Markdown only. HTML in a skill is shown as text. */
const parser = new MarkdownIt({ html: false, linkify: false })

/**
 * Number of levels by which headings in the instructions are lowered, so that they rank below the headings of the page.
 */
const HEADING_SHIFT = 1

/**
 * Renders Markdown as elements. Never inserts HTML from the text into the page, so that a skill cannot change the page.
 */
export function Markdown({ text, paths = [] }: MarkdownProps): ComponentChildren {
  return <div class="prose">{toElements(parser.parse(text, {}), paths)}</div>
}

type Paths = readonly string[]

interface OpenElement {
  readonly token: Token | undefined
  readonly children: ComponentChildren[]
}

function toElements(tokens: readonly Token[], paths: Paths): ComponentChildren[] {
  const stack: OpenElement[] = [{ token: undefined, children: [] }]
  for (const token of tokens) {
    if (token.nesting === 1) {
      stack.push({ token, children: [] })
      continue
    }
    const closed = token.nesting === -1 ? stack.pop() : undefined
    const element =
      closed?.token === undefined ? toLeaf(token, paths) : toElement(closed.token, closed.children, paths)
    stack.at(-1)?.children.push(element)
  }
  return stack[0]?.children ?? []
}

function toElement(token: Token, children: ComponentChildren[], paths: Paths): ComponentChildren {
  // In lists without blank lines, the parser marks paragraph elements as hidden. These elements are omitted.
  if (token.hidden) return h(Fragment, null, ...children)
  if (token.type === 'link_open') return toLink(token, children, paths)
  const heading = /^h([1-6])$/.exec(token.tag)?.[1]
  if (heading !== undefined) return h(`h${Math.min(6, Number(heading) + HEADING_SHIFT)}`, null, ...children)
  const start = token.attrGet('start')
  return h(token.tag, start === null ? null : { start: Number(start) }, ...children)
}

function toLeaf(token: Token, paths: Paths): ComponentChildren {
  switch (token.type) {
    case 'inline':
      return h(Fragment, null, ...toElements(token.children ?? [], paths))
    case 'code_inline':
      return <code>{token.content}</code>
    case 'fence':
    case 'code_block':
      return (
        <pre>
          <code>{token.content}</code>
        </pre>
      )
    case 'softbreak':
      return '\n'
    case 'hardbreak':
      return <br />
    case 'hr':
      return <hr />
    case 'image':
      // Shows the description of an image instead of the image, so that a skill cannot make the page fetch anything.
      return <span class="image">[image: {token.content || token.attrGet('src')}]</span>
    default:
      return token.content
  }
}

/**
 * Renders a link. A link to a file of the skill shows that file on this page. Links with http, https and mailto open a
 * new tab. All other links are plain text.
 */
function toLink(token: Token, children: ComponentChildren[], paths: Paths): ComponentChildren {
  const target = String(token.attrGet('href') ?? '')
  if (/^(https?|mailto):/i.test(target)) {
    return (
      <a href={target} target="_blank" rel="noopener noreferrer">
        {children}
      </a>
    )
  }
  const path = toPath(target)
  if (path === undefined || !paths.includes(path)) return <span title={target}>{children}</span>
  return (
    <button type="button" class="link" onClick={() => showFile(path)}>
      {children}
    </button>
  )
}

function showFile(file: string): void {
  const { query } = route.value
  go({ ...route.value, tab: 'files', query: { ...query, file } })
}

function toPath(target: string): string | undefined {
  try {
    return decodeURIComponent(target)
      .replace(/^\.\//, '')
      .replace(/[?#].*$/, '')
  } catch {
    return undefined // a malformed escape is not a path of a skill
  }
}
