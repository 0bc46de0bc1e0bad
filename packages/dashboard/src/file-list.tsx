import type { ComponentChildren } from 'preact'
import type { ApiClient, FileInfo, FileText } from 'skillstoke/client'
import { formatBytes, shortDigest } from './format.ts'
import { type Loaded, useLoaded } from './use-loaded.ts'

interface FileListProps {
  readonly name: string
  readonly files: readonly FileInfo[]
  readonly open: string | undefined
  readonly onOpen: (path: string) => void
  readonly client: ApiClient
}

/** Renders the list of files of the shown revision, and the content of the selected file. */
export function FileList({ name, files, open, onOpen, client }: FileListProps): ComponentChildren {
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
            <code title={fileDigest}>{shortDigest(fileDigest)}</code>
            <span>{formatBytes(size)}</span>
          </li>
        ))}
      </ul>
      {open !== undefined && <FileView path={open} file={file} />}
    </>
  )
}

interface FileViewProps {
  readonly path: string
  readonly file: Loaded<FileText>
}

function FileView({ path, file }: FileViewProps): ComponentChildren {
  return (
    <section aria-labelledby="file-title">
      <h3 id="file-title">{path}</h3>
      <FileContent file={file} />
    </section>
  )
}

function FileContent({ file }: Pick<FileViewProps, 'file'>): ComponentChildren {
  if (file === undefined) return <p class="empty">Loading …</p>
  if ('failure' in file) return <p role="alert">{file.failure}</p>
  const { text, size, isText } = file.value
  return (
    <>
      {!isText && <p class="empty">This file is not text. Its size is {formatBytes(size)}.</p>}
      <pre class="file-text">{text}</pre>
    </>
  )
}
