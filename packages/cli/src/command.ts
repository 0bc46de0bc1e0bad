// For the authors of scripts: `import { defineCommand } from 'skillstoke/command'`.
export * from '@skillstoke/core/command'
