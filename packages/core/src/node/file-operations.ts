import {
  close,
  closeSync,
  type Dirent,
  fstat,
  fstatSync,
  open,
  openSync,
  read,
  readdir,
  readdirSync,
  readlink,
  readlinkSync,
  readSync,
  realpath,
  realpathSync,
  type Stats,
  stat,
  statSync,
} from 'node:fs'
import { promisify } from 'node:util'

/** The few system calls that reading needs; either done at once or handed to the thread pool. */
export interface FileOperations {
  open(path: string, flags: number): number | Promise<number>
  fstat(descriptor: number): Stats | Promise<Stats>
  read(descriptor: number, buffer: Uint8Array, offset: number): number | Promise<number>
  close(descriptor: number): void | Promise<void>
  stat(path: string): Stats | Promise<Stats>
  list(path: string): Dirent[] | Promise<Dirent[]>
  readlink(path: string): string | Promise<string>
  realpath(path: string): string | Promise<string>
}

/** On a warm cache a call takes a few microseconds; handing it to a thread would cost ten times that. */
export const directOperations: FileOperations = {
  open: (path, flags) => openSync(path, flags),
  fstat: descriptor => fstatSync(descriptor),
  read: (descriptor, buffer, offset) => readSync(descriptor, buffer, offset, buffer.length - offset, null),
  close: descriptor => closeSync(descriptor),
  stat: path => statSync(path),
  list: path => readdirSync(path, { withFileTypes: true }),
  readlink: path => readlinkSync(path),
  realpath: path => realpathSync.native(path),
}

const openAsync = promisify(open)
const fstatAsync = promisify(fstat)
const readAsync = promisify(read)
const closeAsync = promisify(close)
const statAsync = promisify(stat)
const readdirAsync = promisify(readdir)
const readlinkAsync = promisify(readlink)
const realpathAsync = promisify(realpath.native)

/** For slow media: nothing waits for the disk but the caller. */
export const pooledOperations: FileOperations = {
  open: (path, flags) => openAsync(path, flags),
  fstat: descriptor => fstatAsync(descriptor),
  read: async (descriptor, buffer, offset) =>
    (await readAsync(descriptor, buffer, offset, buffer.length - offset, null)).bytesRead,
  close: descriptor => closeAsync(descriptor),
  stat: path => statAsync(path),
  list: path => readdirAsync(path, { withFileTypes: true }),
  readlink: path => readlinkAsync(path),
  realpath: path => realpathAsync(path),
}
