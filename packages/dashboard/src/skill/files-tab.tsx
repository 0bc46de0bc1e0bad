import type { ComponentChildren } from 'preact'
import type { FileInfo, SkillDetail, SkillRow } from 'skillstoke/client'
import { client } from '../client.ts'
import { Answer } from '../parts/answer.tsx'
import { Card } from '../parts/card.tsx'
import { formatBytes, isSkillFile } from '../parts/format.ts'
import { Icon } from '../parts/icons.tsx'
import { useLoaded } from '../parts/use-loaded.ts'
import { VisibleText } from '../parts/visible-text.tsx'
import { route, toFiltered } from '../route.ts'
import { RunView } from './run-view.tsx'

interface FilesTabProps {
  readonly row: SkillRow
  readonly detail: SkillDetail
  readonly version: string
}

/** The files with what each is for, the chosen file, and what can be run. */
export function FilesTab({ row, detail, version }: FilesTabProps): ComponentChildren {
  const open = route.value.query['file']
  const file = detail.files.find(({ path }) => path === open)
  return (
    <>
      <Card title="Files">
        <ul class="who">
          {detail.files.map(each => (
            <li key={each.path}>
              <Icon name={isScript(each) ? 'terminal' : 'file'} />
              <div>
                <a href={toFiltered({ file: each.path })} aria-current={each === file ? 'true' : undefined}>
                  {each.path}
                </a>{' '}
                <span class="m">{describe(each, row.name)}</span>
              </div>
              <span class="m">{formatBytes(each.size)}</span>
            </li>
          ))}
        </ul>
      </Card>
      {file !== undefined && <FileText key={file.path} target={row.target} file={file} />}
      {row.serving === null ? (
        <p class="m">This folder is not served, so its scripts cannot be run.</p>
      ) : (
        <RunView key={row.name} row={row} version={version} />
      )}
    </>
  )
}

function isScript({ path }: FileInfo): boolean {
  return path.startsWith('scripts/')
}

function describe(file: FileInfo, name: string): string {
  const { path } = file
  if (isSkillFile(path)) return `what the model reads when it loads ${name}`
  if (isScript(file)) return 'a script that the model may run'
  if (path.startsWith('evals/')) return 'tests; no conversation reads them'
  return 'read on demand'
}

interface FileTextProps {
  readonly target: string
  readonly file: FileInfo
}

function FileText({ target, file }: FileTextProps): ComponentChildren {
  const { path, digest } = file
  const loaded = useLoaded(() => client.file(target, path), [target, path, digest])
  return (
    <Card title={path} side={<a href={toFiltered({ file: '' })}>Close</a>}>
      <Answer of={loaded}>
        {({ text, size, isText }) => (
          <>
            {!isText && <p class="s m none">This file is not text. Its size is {formatBytes(size)}.</p>}
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long text must be reachable by keyboard */}
            <pre class="file-text" tabIndex={0}>
              <VisibleText text={text} />
            </pre>
          </>
        )}
      </Answer>
    </Card>
  )
}
