/**
 * Returns whether a path is the path of a folder, or is inside the folder. Both paths have `/` as separator, and no `.`
 * or `..`. Every path is inside `/`, including paths on a Windows drive.
 */
export function isInside(path: string, folder: string): boolean {
  return path === folder || folder === '/' || pathInside(folder, path) !== undefined
}

/** Returns the path relative to a folder; `undefined` if the path is not inside the folder. */
export function pathInside(folder: string, path: string): string | undefined {
  const start = folder.endsWith('/') ? folder : `${folder}/`
  return path.startsWith(start) ? path.slice(start.length) : undefined
}
