// What the packages of this repository need of the part for Node: `@skillstoke/core/internal/node`.
// No stability promise: any release may change or remove a name.

// For what runs scripts.
export { hasGroup, isAlive, killGroup, killProcess } from './process-group.ts'
export { removeTree } from './remove-tree.ts'
