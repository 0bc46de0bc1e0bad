import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { SkillError } from '@skillstoke/core'
import { isGitName, quote, toMessage } from '@skillstoke/core/internal'
import type { FetchedFile } from '@skillstoke/core/source'

export interface ArchiveLimits {
  /** Maximum number of entries, folders included. @default 20,000 */
  readonly maxEntries: number
  /** Maximum size of all files together, unpacked, in bytes. @default 100 MB */
  readonly maxTotalBytes: number
}

export const DEFAULT_ARCHIVE_LIMITS: ArchiveLimits = Object.freeze({
  maxEntries: 20_000,
  maxTotalBytes: 100_000_000,
})

const unzip = promisify(gunzip)
const BLOCK = 512

/**
 * Returns the entries of a zip or tar.gz archive, in the order of the archive. Writes nothing to the disk. Refuses the
 * whole archive if a path leads outside the archive, if two paths differ only in case or accent spelling, or if a path is
 * data of git. Such archives come from attackers, or from a folder that was packed with its `.git`.
 * @throws {SkillError} INVALID_PATH, TOO_LARGE, IO_FAILED (damaged, encrypted, or not an archive)
 */
export async function readArchive(
  bytes: Uint8Array,
  limits: ArchiveLimits = DEFAULT_ARCHIVE_LIMITS,
): Promise<readonly FetchedFile[]> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const collector = new EntryCollector(limits)
  try {
    if (buffer.subarray(0, 2).toString('latin1') === 'PK') await readZip(buffer, collector)
    else if (buffer[0] === 0x1f && buffer[1] === 0x8b) await readTar(await inflate(buffer, limits), collector)
    else if (isTar(buffer)) await readTar(buffer, collector)
    else throw new SkillError('IO_FAILED', 'the file is neither a zip nor a tar.gz archive')
  } catch (thrown) {
    if (SkillError.isInstance(thrown)) throw thrown
    throw new SkillError('IO_FAILED', `the archive cannot be read: ${toMessage(thrown)}`, { cause: thrown })
  }
  return collector.entries
}

function isTar(buffer: Buffer): boolean {
  return buffer.subarray(257, 262).toString('latin1') === 'ustar'
}

async function inflate(buffer: Buffer, { maxTotalBytes, maxEntries }: ArchiveLimits): Promise<Buffer> {
  // The limit is higher than `maxTotalBytes`, because the stream also contains a header and padding for each file.
  const maxOutputLength = maxTotalBytes + maxEntries * 3 * BLOCK
  try {
    return await unzip(buffer, { maxOutputLength })
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxTotalBytes)
    throw thrown
  }
}

interface PackedEntry extends Pick<FetchedFile, 'path' | 'kind'> {
  readonly chunks?: readonly Buffer[]
  readonly mode?: number | undefined
}

/** Collects entries one after the other. Throws at the first entry that is not allowed. */
class EntryCollector {
  readonly entries: FetchedFile[] = []
  readonly limits: ArchiveLimits
  readonly #seen = new Map<string, string>()
  #count = 0
  #totalBytes = 0

  constructor(limits: ArchiveLimits) {
    this.limits = limits
  }

  /**
   * Counts an entry and checks its name. If the entry is a file, also counts its bytes. Returns the normalised path, or
   * an empty text for the root.
   */
  enter(name: string, isFolder: boolean, size: number): string {
    if (++this.#count > this.limits.maxEntries)
      throw new SkillError('TOO_LARGE', `the archive has more than ${this.limits.maxEntries} entries`)
    const path = name.replace(/^(\.\/)+/, '').replace(/\/+$/, '')
    if (path === '' || path === '.') return ''
    const isSafe =
      !/[\\\0]/.test(path) &&
      !/^([A-Za-z]:|\/)/.test(path) &&
      path.split('/').every(part => part !== '' && part !== '.' && part !== '..')
    if (!isSafe)
      throw new SkillError('INVALID_PATH', `the archive has an entry ${quote(name)}, which leads out of it`)
    if (path.split('/').some(isGitName))
      throw new SkillError(
        'INVALID_PATH',
        `the archive has an entry ${quote(name)}, which is data of git; leave the folder .git out of the archive`,
      )
    if (isFolder) return path
    // Paths that differ only in case or accent spelling have the same key.
    const key = path.normalize('NFKC').toLowerCase()
    const other = this.#seen.get(key)
    if (other !== undefined)
      throw new SkillError(
        'INVALID_PATH',
        `the archive has ${quote(other)} and ${quote(path)}, which clash on a disk that ignores case`,
      )
    this.#seen.set(key, path)
    this.#totalBytes += size
    if (!(this.#totalBytes <= this.limits.maxTotalBytes)) throw tooLarge(this.limits.maxTotalBytes)
    return path
  }

  add({ path, kind, chunks = [], mode = 0 }: PackedEntry): void {
    this.entries.push({ path, kind, bytes: Buffer.concat(chunks), isExecutable: (mode & 0o100) !== 0 })
  }
}

function tooLarge(maxTotalBytes: number): SkillError {
  return new SkillError('TOO_LARGE', `the archive has more than ${maxTotalBytes} bytes when it is unpacked`)
}

async function readTar(buffer: Buffer, collector: EntryCollector): Promise<void> {
  const { Parser } = await import('tar')
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const parser = new Parser({
    strict: true,
    onReadEntry: entry => {
      try {
        const isFolder = entry.type === 'Directory'
        const isFile = entry.type === 'File' || entry.type === 'OldFile' || entry.type === 'ContiguousFile'
        const path = collector.enter(entry.path, isFolder, isFile ? entry.size : 0)
        if (path === '' || isFolder) {
          entry.resume()
          return
        }
        if (!isFile) {
          collector.add({ path, kind: entry.type === 'SymbolicLink' ? 'link' : 'other' })
          entry.resume()
          return
        }
        const chunks: Buffer[] = []
        entry.on('data', (chunk: Buffer) => void chunks.push(chunk))
        entry.on('end', () => collector.add({ path, kind: 'file', chunks, mode: entry.mode }))
      } catch (thrown) {
        reject(thrown)
        entry.resume()
      }
    },
  })
  parser.on('error', reject)
  parser.on('end', () => resolve())
  parser.end(buffer)
  await promise
}

const FILE_TYPE = 0o170000
const SYMLINK = 0o120000
const REGULAR = 0o100000

async function readZip(buffer: Buffer, collector: EntryCollector): Promise<void> {
  const { fromBufferPromise } = await import('yauzl')
  const zip = await fromBufferPromise(buffer, { strictFileNames: true, validateEntrySizes: true })
  for await (const entry of zip.eachEntry()) {
    const isFolder = entry.fileName.endsWith('/')
    const mode = entry.externalFileAttributes >>> 16
    const type = mode & FILE_TYPE
    const path = collector.enter(entry.fileName, isFolder, entry.uncompressedSize)
    if (path === '' || isFolder) continue
    if (entry.isEncrypted()) throw new SkillError('IO_FAILED', `the archive is encrypted: ${quote(path)}`)
    if (type !== 0 && type !== REGULAR) {
      collector.add({ path, kind: type === SYMLINK ? 'link' : 'other' })
      continue
    }
    const chunks: Buffer[] = []
    const stream = await zip.openReadStreamPromise(entry)
    for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk)
    collector.add({ path, kind: 'file', chunks, mode })
  }
}
