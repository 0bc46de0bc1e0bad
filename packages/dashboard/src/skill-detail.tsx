import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { ApiClient, SkillDetail, SkillRow } from 'skillstoke/client'
import { DifferenceView } from './difference-view.tsx'
import { Fact } from './fact.tsx'
import { FileList } from './file-list.tsx'
import { formatCount, shortDigest } from './format.ts'
import { HistoryView } from './history-view.tsx'
import { Markdown } from './markdown.tsx'
import { ReviewPanel } from './review-panel.tsx'
import { go } from './route.ts'
import { RunView } from './run-view.tsx'
import { SourceText } from './source-text.tsx'
import { DETAIL_TABS, detailTab, placeOf, rows, selectedPlace } from './store.ts'
import { type Loaded, useLoaded } from './use-loaded.ts'

interface PaneProps {
  readonly name: string
  readonly row: SkillRow | undefined
  readonly client: ApiClient
}

/** One skill as it is served, and what is wrong with its newest text. Follows every change. */
export function SkillDetailPane({ name, row, client }: PaneProps): ComponentChildren {
  const openFile = useSignal<string | undefined>(undefined)
  const heading = useRef<HTMLHeadingElement>(null)
  const own = rows.value.filter(each => each.name === name)
  // Whatever a row says may come with another text or another finding.
  const version = JSON.stringify(own)

  const loaded = useLoaded(() => client.skill(name), [name, version])

  useLayoutEffect(() => {
    // An address with a name in it selects the row as well.
    if (row?.name !== name && own[0] !== undefined) selectedPlace.value = placeOf(own[0])
    heading.current?.focus()
  }, [name])

  return (
    <article class="detail" aria-labelledby="detail-title">
      <p class="narrow-only">
        <button type="button" class="plain" onClick={() => go({ view: 'skills' })}>
          ← All skills
        </button>
      </p>
      <h2 id="detail-title" tabIndex={-1} ref={heading}>
        {name}
      </h2>
      <Body loaded={loaded} openFile={openFile} client={client} name={name} version={version} />
    </article>
  )
}

interface BodyProps {
  readonly loaded: Loaded<SkillDetail>
  readonly openFile: { value: string | undefined }
  readonly client: ApiClient
  readonly name: string
  readonly version: string
}

function Body({ loaded, openFile, client, name, version }: BodyProps): ComponentChildren {
  if (loaded === undefined) return <p class="empty">Loading …</p>
  if ('failure' in loaded) return <p role="alert">{loaded.failure}</p>
  const detail = loaded.value
  const isBroken = detail.skills.some(row => row.status === 'broken')
  const tab = detailTab.value ?? (isBroken ? 'source' : 'instructions')
  // Of several folders of one name the one that waits for a decision, or the one that serves.
  const reviewed = detail.skills.find(row => row.status === 'pending') ?? detail.skills[0]
  const target = reviewed === undefined ? name : `${reviewed.source}/${name}`
  const showFile = (path: string): void => {
    openFile.value = path
    detailTab.value = 'files'
  }
  return (
    <>
      <Facts detail={detail} />
      <Findings detail={detail} />
      {reviewed !== undefined && <ReviewPanel key={placeOf(reviewed)} row={reviewed} client={client} />}
      <div role="tablist" aria-label="Parts of the skill" class="tabs" onKeyDown={onTabKey}>
        {DETAIL_TABS.map(each => (
          <button
            type="button"
            key={each}
            id={`tab-${each}`}
            role="tab"
            aria-selected={each === tab}
            aria-controls="tab-panel"
            tabIndex={each === tab ? 0 : -1}
            onClick={() => (detailTab.value = each)}
          >
            {each}
            {each === 'files' && ` (${detail.files.length})`}
          </button>
        ))}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a panel that scrolls has to be reached by keyboard */}
      <div id="tab-panel" role="tabpanel" aria-labelledby={`tab-${tab}`} tabIndex={0}>
        {tab === 'instructions' && <Instructions detail={detail} onFile={showFile} />}
        {tab === 'source' && <Source detail={detail} />}
        {tab === 'files' && (
          <FileList
            name={name}
            files={detail.files}
            open={openFile.value}
            onOpen={path => (openFile.value = path)}
            client={client}
          />
        )}
        {tab === 'run' && (
          <RunView
            key={name}
            name={name}
            target={target}
            version={version}
            serving={reviewed?.serving ?? null}
            client={client}
          />
        )}
        {tab === 'difference' && <DifferenceView name={target} version={version} client={client} />}
        {tab === 'history' && reviewed !== undefined && (
          <HistoryView name={target} serving={reviewed.serving} version={version} client={client} />
        )}
        {tab === 'why' && <Why detail={detail} />}
      </div>
    </>
  )
}

function onTabKey(event: KeyboardEvent): void {
  const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
  if (step === 0) return
  event.preventDefault()
  const tabs = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('[role=tab]')]
  const next = tabs[(tabs.indexOf(event.target as HTMLElement) + step + tabs.length) % tabs.length]
  next?.click()
  next?.focus()
}

function Facts({ detail }: { readonly detail: SkillDetail }): ComponentChildren {
  const [row] = detail.skills
  if (row === undefined) return null
  return (
    <>
      {row.description !== '' && <p class="lead">{row.description}</p>}
      <dl class="facts-list">
        <Fact label="Status">
          <span class={`badge ${row.status}`}>{row.status}</span>
        </Fact>
        <Fact label="Serving">
          <code>{row.serving === null ? 'nothing' : shortDigest(row.serving)}</code>
          {row.serving !== null && row.revision !== row.serving && ', an earlier revision'}
        </Fact>
        <Fact label="Tokens">
          {row.tokens === null
            ? '–'
            : `${formatCount(row.tokens.listed)} listed, ${formatCount(row.tokens.body)} in the body`}
        </Fact>
        {detail.skills.map(each => (
          <Fact key={each.location} label={each === row ? 'Folder' : 'Also at'}>
            <span class="path">{each.location}</span> ({each.source}
            {each.status === 'shadowed' && ', shadowed'})
          </Fact>
        ))}
        {row.copies.map(copy => (
          <Fact key={copy.location} label="The same in">
            <span class="path">{copy.location}</span> ({copy.source})
          </Fact>
        ))}
      </dl>
    </>
  )
}

function Findings({ detail }: { readonly detail: SkillDetail }): ComponentChildren {
  const findings = detail.skills.flatMap(row => row.diagnostics)
  if (findings.length === 0) return null
  return (
    <ul class="findings" aria-label="Findings">
      {findings.map(({ code, severity, message, line, column, fix }) => (
        <li key={`${code} ${line} ${message}`} class={severity}>
          <strong>{severity}</strong>
          {line !== undefined && ` line ${line}${column === undefined ? '' : `, column ${column}`}`}:{' '}
          {message} <code>{code}</code>
          {fix !== undefined && <p>Fix: {fix}</p>}
        </li>
      ))}
    </ul>
  )
}

interface InstructionsProps {
  readonly detail: SkillDetail
  readonly onFile: (path: string) => void
}

function Instructions({ detail, onFile }: InstructionsProps): ComponentChildren {
  if (detail.body === null) return <p class="empty">No revision of this skill is served.</p>
  const paths = new Set(detail.files.map(file => file.path))
  return <Markdown text={detail.body} paths={paths} onFile={onFile} />
}

function Source({ detail }: { readonly detail: SkillDetail }): ComponentChildren {
  const text = detail.refusedText ?? detail.text
  if (text === null) return <p class="empty">The text cannot be shown.</p>
  // Of the folder whose text it is: the refused one, or the one that serves.
  const own =
    detail.refusedText === null ? detail.skills[0] : detail.skills.find(row => row.status === 'broken')
  const findings = own?.diagnostics ?? []
  return (
    <>
      {detail.refusedText !== null && <p class="note">This is the text on the disk, which was refused.</p>}
      <SourceText text={text} findings={findings} />
    </>
  )
}

function Why({ detail }: { readonly detail: SkillDetail }): ComponentChildren {
  return (
    <ol class="steps">
      {detail.explanation.steps.map(({ step, ok, detail: reason }) => (
        <li key={step} class={ok ? 'yes' : 'no'}>
          <strong>{step}</strong> {ok ? 'yes' : 'no'}: {reason}
        </li>
      ))}
    </ol>
  )
}
