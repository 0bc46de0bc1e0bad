import {
  type AdaptFileSystemOptions,
  adaptFileSystem,
  type DirectoryEntry,
  type FileSystem,
} from '@skillstoke/core/source'

/**
 * The methods that an SFTP client must have. A connected client of the package `ssh2-sftp-client` has these methods.
 */
export interface SftpClient {
  list(path: string): Promise<readonly { readonly name: string; readonly type: string }[]>
  stat(path: string): Promise<{
    readonly isDirectory: boolean
    readonly isFile: boolean
    readonly size: number
    /** Time in milliseconds since the epoch. */
    readonly modifyTime: number
    readonly mode: number
  }>
  realPath(path: string): Promise<string>
  createReadStream(
    path: string,
    options: { readonly start: number; readonly end: number },
  ): AsyncIterable<Uint8Array> & { destroy(): unknown }
}

const KINDS: Readonly<Record<string, DirectoryEntry['kind']>> = { d: 'directory', '-': 'file', l: 'link' }
// The SFTP status code for a missing file, and the error codes that some clients report instead of this status code.
const NO_SUCH_FILE = [2, 'ENOENT', 'ERR_NOT_FOUND']
const EXECUTABLE_BY_OWNER = 0o100

/**
 * Reads files of another machine over SFTP. The caller owns the connection. If the connection is lost, the skills are
 * still served. The source reports the fault until the client is connected again. The source polls for changes.
 *
 * @example
 * ```ts no-run
 * import SftpClient from 'ssh2-sftp-client'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { sftpFileSystem } from '@skillstoke/sources'
 * import { FileSource } from '@skillstoke/core/source'
 *
 * const client = new SftpClient()
 * await client.connect({ host: 'skills.example.com', username: 'ada', agent: process.env['SSH_AUTH_SOCK'] ?? '' })
 * const source = new FileSource({ fileSystem: sftpFileSystem(client), root: '/srv/skills', label: 'remote' })
 * await using skills = await createSkillRuntime({ sources: [source] })
 * console.log(skills.status()[0]?.mode)
 * ```
 */
export function sftpFileSystem(client: SftpClient, options: AdaptFileSystemOptions = {}): FileSystem {
  return adaptFileSystem(
    {
      list: async path =>
        (await client.list(path)).map(({ name, type }) => ({ name, kind: KINDS[type] ?? 'other' })),
      stat: async path => {
        const { isDirectory, isFile, size, modifyTime, mode } = await client.stat(path)
        return {
          kind: isFile ? 'file' : isDirectory ? 'directory' : 'other',
          size,
          mtimeMs: modifyTime,
          isExecutable: (mode & EXECUTABLE_BY_OWNER) !== 0,
        }
      },
      resolve: async path => (await client.realPath(path)) || undefined,
      read: async (path, { maxBytes, signal }) => {
        const stream = client.createReadStream(path, { start: 0, end: maxBytes })
        const stop = (): unknown => stream.destroy()
        signal.addEventListener('abort', stop, { once: true })
        try {
          const chunks: Uint8Array[] = []
          for await (const chunk of stream) chunks.push(chunk)
          return Buffer.concat(chunks)
        } finally {
          signal.removeEventListener('abort', stop)
        }
      },
    },
    {
      isMissing: thrown => NO_SUCH_FILE.includes((thrown as { code?: string | number }).code ?? ''),
      ...options,
    },
  )
}
