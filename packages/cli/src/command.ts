// For the authors of scripts: `import { defineCommand } from 'skillstoke/command'`.
export {
  type CommandContext,
  type CommandDefinition,
  type CommandHints,
  type CommandInput,
  type DefinedCommand,
  defineCommand,
  type JsonSchemaObject,
  type StandardSchema,
} from '@skillstoke/core/command'
