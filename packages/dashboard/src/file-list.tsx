import type { ComponentChildren } from 'preact'
import type { FileInfo } from 'skillstoke/client'
import { Answer } from './answer.tsx'
import { client } from './client.ts'
import { Digest } from './digest.tsx'
import { formatBytes } from './format.ts'
import { useLoaded } from './use-loaded.ts'

interface FileListProps {
  readonly name: string
  readonly files: readonly FileInfo[]
  readonly open: string | undefined
  readonly onOpen: (path: string) => void
}

/** Renders the list of files of the shown revision, and the content of the selected file. */
export function FileList({ name, files, open, onOpen }: FileListProps): ComponentChildren {
  const digest = files.find(each => each.path === open)?.digest
  const ask = open === undefined || digest === undefined ? undefined : () => client.file(name, open)
  const file = useLoaded(ask, [name, open, digest])

  return (
    <>
      <ul class="files">
        {files.map(({ path, size, digest: fileDigest }) => (
          <li key={path}>
            <button type="button" class="plain" aria-pressed={path === open} onClick={() => onOpen(path)}>
              {path}
            </button>
            <Digest of={fileDigest} />
            <span>{formatBytes(size)}</span>
          </li>
        ))}
      </ul>
      {open !== undefined && (
        <section aria-labelledby="file-title">
          <h3 id="file-title">{open}</h3>
          <Answer of={file}>
            {({ text, size, isText }) => (
              <>
                {!isText && <p class="empty">This file is not text. Its size is {formatBytes(size)}.</p>}
                <pre class="file-text">{text}</pre>
              </>
            )}
          </Answer>
        </section>
      )}
    </>
  )
}
