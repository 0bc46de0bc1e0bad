import type { Diagnostic } from '@skillstoke/core'
import { loadYaml } from '@skillstoke/core/internal'
import {
  CORE_SCHEMA,
  EVENT_ALIAS,
  EVENT_DOCUMENT,
  EVENT_MAPPING,
  EVENT_POP,
  EVENT_SCALAR,
  getScalarValue,
  load,
  parseEvents,
} from 'js-yaml'

/** A place in a YAML value: keys and positions from the outermost level, joined by slashes. */
export type YamlPath = string

/** A YAML value with the lines of its parts. */
export type LinedYaml =
  | { readonly ok: true; readonly value: unknown; readonly lineOf: (path: YamlPath) => number | undefined }
  | { readonly ok: false; readonly fault: Diagnostic }

const MAX_DEPTH = 16
/** The position that js-yaml gives to an empty value. */
const UNWRITTEN = -1

/** Reads YAML 1.2 without tags and aliases. */
export function readLinedYaml(text: string): LinedYaml {
  const isEmpty = text.replaceAll(/^\s*#.*$/gm, '').trim() === ''
  if (isEmpty) return { ok: true, value: null, lineOf: () => undefined }
  const checked = loadYaml(text, 1)
  if (!checked.ok) return checked
  const lines = findLines(text)
  return { ok: true, value: load(text, { schema: CORE_SCHEMA }), lineOf: path => findLine(path, lines) }
}

/** Returns the line of a value. A value that is not written has the line of the list or map around it. */
function findLine(path: YamlPath, lines: ReadonlyMap<YamlPath, number>): number | undefined {
  const line = lines.get(path)
  return line !== undefined || path === '' ? line : findLine(path.replace(/\/[^/]*$/, ''), lines)
}

/** An open list or map. `key` is the key whose value comes next. */
interface Level {
  readonly path: YamlPath
  readonly isMap: boolean
  index: number
  key?: string | undefined
}

function findLines(text: string): ReadonlyMap<YamlPath, number> {
  const lines = new Map<YamlPath, number>()
  const levels: Level[] = []
  let [offset, line] = [0, 1]
  const lineAt = (position: number): number => {
    for (; offset < position; offset++) if (text[offset] === '\n') line++
    return line
  }
  for (const event of parseEvents(text, { maxDepth: MAX_DEPTH })) {
    const level = levels.at(-1)
    if (event.type === EVENT_DOCUMENT) continue
    if (event.type === EVENT_POP) {
      levels.pop()
      continue
    }
    const start =
      event.type === EVENT_SCALAR
        ? event.valueStart
        : event.type === EVENT_ALIAS
          ? event.anchorStart
          : event.start
    if (level?.isMap && level.key === undefined) {
      level.key = event.type === EVENT_SCALAR ? getScalarValue(text, event) : ''
      lines.set(`${level.path}/${level.key}`, lineAt(start))
      continue
    }
    const path = level === undefined ? '' : `${level.path}/${level.isMap ? level.key : level.index++}`
    if (level !== undefined) level.key = undefined
    if (!lines.has(path) && start !== UNWRITTEN) lines.set(path, lineAt(start))
    if (event.type !== EVENT_SCALAR && event.type !== EVENT_ALIAS)
      levels.push({ path, isMap: event.type === EVENT_MAPPING, index: 0 })
  }
  return lines
}
