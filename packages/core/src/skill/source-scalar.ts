import {
  boolCoreTag,
  CORE_SCHEMA,
  floatCoreTag,
  intCoreTag,
  mapTag,
  NOT_RESOLVED,
  type ScalarTagDefinition,
  type Schema,
} from 'js-yaml'

/**
 * A number or boolean of a YAML text, with its spelling. The spelling is lost in the value: `3.10` is the number 3.1.
 */
export class SourceScalar {
  readonly value: number | boolean
  readonly text: string

  constructor(value: number | boolean, text: string) {
    this.value = value
    this.text = text
  }
}

/**
 * YAML 1.2's core schema, except that numbers and booleans keep their spelling. Keys are always read as they are
 * spelled.
 */
export const SOURCE_SCHEMA: Schema = CORE_SCHEMA.withTags(
  keepSpelling(intCoreTag),
  keepSpelling(floatCoreTag),
  keepSpelling(boolCoreTag),
  {
    ...mapTag,
    addPair: (map, key, value) => mapTag.addPair(map, toKey(key), value),
    has: (map, key) => mapTag.has(map, toKey(key)),
  },
)

function keepSpelling<T extends number | boolean>(
  tag: ScalarTagDefinition<T>,
): ScalarTagDefinition<SourceScalar> {
  return {
    ...tag,
    resolve: (source, isExplicit, tagName) => {
      const value = tag.resolve(source, isExplicit, tagName)
      return value === NOT_RESOLVED ? value : new SourceScalar(value, source)
    },
  }
}

function toKey(key: unknown): unknown {
  return key instanceof SourceScalar ? key.text : key
}

/** Returns a loaded value with the types that YAML gives its scalars. */
export function toTyped(value: unknown): unknown {
  return mapScalars(value, scalar => scalar.value)
}

/** Returns a loaded value in which each number and boolean is the text of the file. */
export function toSpelled(value: unknown): unknown {
  return mapScalars(value, scalar => scalar.text)
}

function mapScalars(value: unknown, convert: (scalar: SourceScalar) => unknown): unknown {
  if (value instanceof SourceScalar) return convert(value)
  if (Array.isArray(value)) return value.map(item => mapScalars(item, convert))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapScalars(item, convert)]))
}
