/** Something that a text names. Whether anything uses it, only a run shows. */
export interface Mention {
  readonly kind: 'host' | 'secret'
  readonly name: string
  /** Line of the new text, counted from 1. */
  readonly line: number
}

const HOST =
  /\bhttps?:\/\/(?:[^\s/@'"]+@)?([a-z0-9.-]+\.[a-z]{2,}|\[[0-9a-f:]+\]|\d+(?:\.\d+){3}|localhost)/gi
/** Variables of a shell, of Node, of Python and of Ruby, if they look like a secret. */
const VARIABLE =
  /(?:\$\{?|process\.env\.|process\.env\[['"]|environ(?:\.get)?[[(]['"]|getenv\(['"]|ENV\[['"])([A-Z][A-Z0-9_]*)/g
const SECRET = /(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH)/

/** Finds the hosts and secrets that a text names and the text before it does not. */
export function findMentions(before: string, after: string): readonly Mention[] {
  const known = new Set(listMentions(before).map(({ name }) => name))
  const found = new Map<string, Mention>()
  for (const mention of listMentions(after))
    if (!known.has(mention.name) && !found.has(mention.name)) found.set(mention.name, mention)
  return [...found.values()]
}

function listMentions(text: string): readonly Mention[] {
  return text
    .split('\n')
    .flatMap((line, index) => [
      ...[...line.matchAll(HOST)].map(([, name = '']) => ({ kind: 'host', name, line: index + 1 }) as const),
      ...[...line.matchAll(VARIABLE)].flatMap(([, name = '']) =>
        SECRET.test(name) ? [{ kind: 'secret', name, line: index + 1 } as const] : [],
      ),
    ])
}
