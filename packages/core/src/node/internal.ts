// What the packages of this repository need of the part for Node. No stability promise: any release may change or remove it.
export { removeTree } from './remove-tree.ts'
