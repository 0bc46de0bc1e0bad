import type { CatalogFormatName } from '@skillstoke/core'
import {
  CATALOG_FORMAT_NAMES,
  DEFAULT_FETCH_POLL_MS,
  DUPLICATE_WINNERS,
  type DuplicateWinner,
  READING_CHOICES,
} from '@skillstoke/core/internal'
import type { ReadingPolicy } from '@skillstoke/core/source'
import { z } from 'zod'
import { DEFAULT_MAX_SESSIONS } from './defaults.ts'
import { type ConfigSource, SOURCE_KIND_NAMES, SOURCE_KINDS } from './source-kinds.ts'

const path = z.string().min(1)
const label = z
  .string()
  .regex(/^[A-Za-z0-9._~/-]{1,64}$/, 'a label has 1 to 64 letters, digits, or any of . _ ~ / -')
const patterns = z.array(z.string().min(1))

const common = {
  label: label.optional().describe('The name of the source in digests and reports.'),
  pollSeconds: z
    .int()
    .min(60)
    .optional()
    .describe(`How often it is asked; ${DEFAULT_FETCH_POLL_MS / 1_000} without it.`),
}

const fetched = {
  ...common,
  maxMegabytes: z
    .int()
    .min(1)
    .max(100_000)
    .optional()
    .describe('How much may be fetched of it; 200 without it, 50 for an archive.'),
}

const kinds = SOURCE_KIND_NAMES.map(name => SOURCE_KINDS[name].fields({ z, path, common, fetched }))

const source = z.union(
  kinds.map(fields => z.strictObject(fields)),
  { error: `name one place: ${SOURCE_KIND_NAMES.join(', ').replace(/, (\w+)$/, ' or $1')}` },
) as z.ZodType<ConfigSource>

/** A configuration as it is written. */
export interface ConfigFile {
  readonly $schema?: string | undefined
  readonly roots?:
    | readonly (string | { readonly path: string; readonly label?: string | undefined })[]
    | undefined
  readonly sources?: readonly ConfigSource[] | undefined
  readonly linkRoots?: readonly string[] | undefined
  readonly scope?:
    | { readonly include?: readonly string[] | undefined; readonly exclude?: readonly string[] | undefined }
    | undefined
  readonly catalog?:
    | { readonly maxTokens?: number | undefined; readonly format?: CatalogFormatName | undefined }
    | undefined
  readonly onDuplicate?: DuplicateWinner | undefined
  readonly reading?:
    | {
        readonly names?: ReadingPolicy['names'] | undefined
        readonly matchDirectory?: ReadingPolicy['matchDirectory'] | undefined
        readonly description?: ReadingPolicy['description'] | undefined
      }
    | undefined
  readonly server?:
    | { readonly port?: number | undefined; readonly maxSessions?: number | undefined }
    | undefined
}

/** `skillstoke.json`. The schema that is shipped beside the package is made from this. */
export const configSchema: z.ZodType<ConfigFile> = z
  .strictObject({
    $schema: z.string().optional().describe('The schema of this file, for editors.'),
    roots: z
      .array(
        z.union([
          path,
          z.strictObject({
            path: path.describe('The folder, relative to this file.'),
            label: label.optional().describe('The name of the folder in digests and reports.'),
          }),
        ]),
      )
      .min(1)
      .optional()
      .describe(
        'Folders of skills in order of precedence, relative to this file; they replace the default ones.',
      ),
    sources: z
      .array(source)
      .optional()
      .describe(
        'Skills of other places, after all roots in precedence. Their changes wait for approval: stoke approve.',
      ),
    linkRoots: z
      .array(path)
      .optional()
      .describe('Folders of the project into which links of the roots may lead, relative to this file.'),
    scope: z
      .strictObject({
        include: patterns.optional().describe('Only skills whose name matches; "*" stands for anything.'),
        exclude: patterns.optional().describe('No skills whose name matches.'),
      })
      .optional()
      .describe('Which skills conversations and MCP clients may see.'),
    catalog: z
      .strictObject({
        maxTokens: z.int().min(1).optional().describe('Tokens that the catalog may take.'),
        format: z.enum(CATALOG_FORMAT_NAMES).optional().describe('How the catalog is written.'),
      })
      .optional(),
    onDuplicate: z.enum(DUPLICATE_WINNERS).optional().describe('Which root serves a name that several have.'),
    reading: z
      .strictObject({
        names: z
          .enum(READING_CHOICES.names)
          .optional()
          .describe('Whether a name against the rules is an error, a warning, or fine.'),
        matchDirectory: z
          .enum(READING_CHOICES.matchDirectory)
          .optional()
          .describe('What a name that differs from its folder is.'),
        description: z
          .enum(READING_CHOICES.description)
          .optional()
          .describe('What stands for a missing description.'),
      })
      .optional()
      .describe('How forgiving the texts of skills are read.'),
    server: z
      .strictObject({
        port: z.int().min(0).max(65_535).optional().describe('Port of the dev server; 0 takes a free one.'),
        maxSessions: z
          .int()
          .min(1)
          .optional()
          .describe(`MCP sessions over HTTP that may be open at once; ${DEFAULT_MAX_SESSIONS} without it.`),
      })
      .optional(),
  })
  .describe('Configuration of skillstoke. Flags and environment variables go before it.')

/** JSON Schema of the file, for editors. */
export function toJsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(configSchema, { io: 'input' })
}
