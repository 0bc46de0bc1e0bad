import {
  CATALOG_FORMAT_NAMES,
  DEFAULT_FETCH_POLL_MS,
  DUPLICATE_WINNERS,
  READING_CHOICES,
} from '@skillstoke/core/internal'
import { z } from 'zod'
import { DEFAULT_MAX_SESSIONS } from './defaults.ts'
import { type ConfigSource, SOURCE_KIND_NAMES, SOURCE_KINDS } from './source-kinds.ts'

const path = z.string().min(1)
const label = z
  .string()
  .regex(/^[A-Za-z0-9._~/-]{1,64}$/, 'a label has 1 to 64 letters, digits, or any of . _ ~ / -')
const patterns = z.array(z.string().min(1))

const common = {
  label: label.optional().describe('Name of the source in digests and reports.'),
  pollSeconds: z
    .int()
    .min(60)
    .optional()
    .describe(`Seconds between two polls of the source; the default is ${DEFAULT_FETCH_POLL_MS / 1_000}.`),
}

const fetched = {
  ...common,
  maxMegabytes: z
    .int()
    .min(1)
    .max(100_000)
    .optional()
    .describe('Maximum size to fetch, in megabytes; the default is 200, or 50 for an archive.'),
}

const kinds = SOURCE_KIND_NAMES.map(name => SOURCE_KINDS[name].fields({ z, path, common, fetched }))

const source = z.union(
  kinds.map(fields => z.strictObject(fields)),
  { error: `name exactly one of: ${SOURCE_KIND_NAMES.join(', ').replace(/, (\w+)$/, ' or $1')}` },
) as z.ZodType<ConfigSource>

const mcpServer = z.union(
  [
    z.strictObject({
      command: z.string().min(1).describe('Program that speaks MCP on standard input and output.'),
      args: z.array(z.string()).optional(),
      env: z.record(z.string(), z.string()).optional().describe('Environment variables of the program.'),
    }),
    z.strictObject({
      url: z
        .url({ protocol: /^https?$/, error: 'write an http URL' })
        .describe('Server that speaks MCP over HTTP.'),
    }),
  ],
  { error: 'write either "command", with "args" and "env", or "url"' },
)

/** The schema of `skillstoke.json`. The published JSON Schema is generated from this schema. */
export const configSchema = z
  .strictObject({
    $schema: z.string().optional().describe('JSON Schema of this file, for editors.'),
    roots: z
      .array(
        z.union([
          path,
          z.strictObject({
            path: path.describe('Folder, relative to this file.'),
            label: label.optional().describe('Name of the root in digests and reports.'),
          }),
        ]),
      )
      .min(1)
      .optional()
      .describe(
        'Folders that contain skills, in order of precedence, relative to this file. They replace the default roots.',
      ),
    sources: z
      .array(source)
      .optional()
      .describe(
        'Remote sources, with a lower precedence than all roots. Their changes wait for approval with "stoke approve".',
      ),
    linkRoots: z
      .array(path)
      .optional()
      .describe(
        'Folders inside the project, relative to this file. Links in the roots may point into these folders.',
      ),
    scope: z
      .strictObject({
        include: patterns
          .optional()
          .describe('Show only skills whose name matches one of these patterns; "*" matches any text.'),
        exclude: patterns.optional().describe('Hide skills whose name matches one of these patterns.'),
      })
      .optional()
      .describe('The skills that conversations and MCP clients may see.'),
    catalog: z
      .strictObject({
        maxTokens: z.int().min(1).optional().describe('Maximum size of the catalog in tokens.'),
        format: z.enum(CATALOG_FORMAT_NAMES).optional().describe('Format of the catalog.'),
      })
      .optional(),
    checks: z
      .record(
        z.string().regex(/^[A-Z]+(?:_[A-Z0-9]+)+$/, 'a code has capital letters, for example LINK_DEAD'),
        z.enum(['off', 'info', 'warning', 'error']),
      )
      .optional()
      .describe('Severity of each code of "stoke check", or "off".'),
    onDuplicate: z
      .enum(DUPLICATE_WINNERS)
      .optional()
      .describe('Which root serves a skill if several roots have a skill of that name.'),
    reading: z
      .strictObject({
        names: z
          .enum(READING_CHOICES.names)
          .optional()
          .describe('Whether an invalid name is an error, a warning, or accepted.'),
        matchDirectory: z
          .enum(READING_CHOICES.matchDirectory)
          .optional()
          .describe('Whether a name that differs from its folder is an error, a warning, or accepted.'),
        description: z
          .enum(READING_CHOICES.description)
          .optional()
          .describe('What replaces a missing description.'),
      })
      .optional()
      .describe('How strictly skills are read.'),
    agent: z
      .strictObject({
        mcpServers: z
          .record(
            z.string().regex(/^[A-Za-z0-9_-]{1,32}$/, 'a server name has 1 to 32 letters, digits, _ or -'),
            mcpServer,
          )
          .optional()
          .describe('MCP servers by name. The tools of a server get the names mcp__SERVER__TOOL.'),
        tools: path
          .optional()
          .describe('Module, relative to this file, whose default export is an object of AI SDK tools.'),
      })
      .optional()
      .describe('Tools of the model in "stoke chat", used only if --config names this file.'),
    server: z
      .strictObject({
        port: z
          .int()
          .min(0)
          .max(65_535)
          .optional()
          .describe('Port of the dev server; 0 chooses a free port.'),
        maxSessions: z
          .int()
          .min(1)
          .optional()
          .describe(`Maximum number of open MCP sessions over HTTP; the default is ${DEFAULT_MAX_SESSIONS}.`),
      })
      .optional(),
  })
  .describe('Configuration of skillstoke. Flags and environment variables take precedence.')

/** The content of a configuration file. */
export type ConfigFile = z.infer<typeof configSchema>

/** Returns the JSON Schema of the file, for editors. */
export function toJsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(configSchema, { io: 'input' })
}
