import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { keyOfRow, type SkillDetail, type SkillRow, type SkillVisibility } from 'skillstoke/client'
import { client } from './client.ts'
import { DifferenceView } from './difference-view.tsx'
import { Fact } from './fact.tsx'
import { FileList } from './file-list.tsx'
import { Findings, isAboutInstructions } from './findings.tsx'
import { formatCount, formatTime, plural, shortDigest } from './format.ts'
import { HistoryView } from './history-view.tsx'
import { Markdown } from './markdown.tsx'
import { ReviewPanel } from './review-panel.tsx'
import { go } from './route.ts'
import { RunView } from './run-view.tsx'
import { SourceText } from './source-text.tsx'
import { DETAIL_TABS, detailTab, rows, selectedPlace } from './store.ts'
import { TryView } from './try-view.tsx'
import { type Loaded, useLoaded } from './use-loaded.ts'

interface PaneProps {
  readonly name: string
  readonly row: SkillRow | undefined
}

/**
 * Renders the served revision of one skill and the diagnostics of its newest text. This component renders again after
 * every change of the skill.
 */
export function SkillDetailPane({ name, row }: PaneProps): ComponentChildren {
  const openFile = useSignal<string | undefined>(undefined)
  const heading = useRef<HTMLHeadingElement>(null)
  const own = rows.value.filter(each => each.name === name)
  // Loads the detail again after any change of a row, because the text or the diagnostics may have changed.
  const version = JSON.stringify(own)

  // If several folders have this name, shows the selected folder.
  const target = row?.name === name ? row.target : (own[0]?.target ?? name)
  const loaded = useLoaded(() => client.skill(target), [target, version])

  useLayoutEffect(() => {
    // If the skill was chosen in the address bar, selects the row of this skill.
    if (row?.name !== name && own[0] !== undefined) selectedPlace.value = keyOfRow(own[0])
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
      <Body loaded={loaded} openFile={openFile} name={name} version={version} />
    </article>
  )
}

interface BodyProps {
  readonly loaded: Loaded<SkillDetail>
  readonly openFile: { value: string | undefined }
  readonly name: string
  readonly version: string
}

function Body({ loaded, openFile, name, version }: BodyProps): ComponentChildren {
  if (loaded === undefined) return <p class="empty">Loading …</p>
  if ('failure' in loaded) return <p role="alert">{loaded.failure}</p>
  const detail = loaded.value
  const [row] = detail.skills
  if (row === undefined) return null
  const tab = detailTab.value ?? (row.status === 'broken' ? 'source' : 'instructions')
  const { target } = row
  const showFile = (path: string): void => {
    openFile.value = path
    detailTab.value = 'files'
  }
  return (
    <>
      <Facts row={row} others={detail.skills.slice(1)} />
      <Findings row={row} />
      <ReviewPanel key={`${keyOfRow(row)} ${row.revision}`} row={row} />
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
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling panel must be reachable by keyboard */}
      <div id="tab-panel" role="tabpanel" aria-labelledby={`tab-${tab}`} tabIndex={0}>
        {(tab === 'instructions' || tab === 'files') && <NotServed row={row} detail={detail} />}
        {tab === 'instructions' && <Instructions detail={detail} onFile={showFile} />}
        {tab === 'source' && <Source row={row} detail={detail} />}
        {tab === 'files' && (
          <FileList
            name={target}
            files={detail.files}
            open={openFile.value}
            onOpen={path => (openFile.value = path)}
          />
        )}
        {tab === 'try' && row.serving === null && (
          <p class="empty">This folder is not served, so no conversation sees the skill.</p>
        )}
        {tab === 'try' && row.serving !== null && <TryView key={name} name={name} />}
        {tab === 'run' && row.serving === null && (
          <p class="empty">This folder is not served, so its scripts cannot be run.</p>
        )}
        {tab === 'run' && row.serving !== null && (
          <RunView key={name} name={name} target={target} version={version} serving={row.serving} />
        )}
        {tab === 'difference' && <DifferenceView name={target} version={version} />}
        {tab === 'history' && <HistoryView name={target} serving={row.serving} version={version} />}
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

interface FactsProps {
  readonly row: SkillRow
  /** Other folders whose skill has the same name. */
  readonly others: readonly SkillRow[]
}

/** What a model sees of a skill. */
const VISIBILITIES: Readonly<Record<SkillVisibility, string>> = {
  listed: 'listed in the catalog',
  unlisted: 'unlisted: the catalog is over its budget, and only search finds the skill',
  hidden: 'hidden: only people invoke the skill',
}

function Facts({ row, others }: FactsProps): ComponentChildren {
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
        <Fact label="Visibility">{row.visibility === null ? 'none' : VISIBILITIES[row.visibility]}</Fact>
        <Fact label="Tokens">
          {row.tokens === null
            ? '–'
            : `${formatCount(row.tokens.listed)} listed, ${formatCount(row.tokens.body)} in the body`}
        </Fact>
        <Fact label="Used">
          {row.usage === null
            ? 'not since the server started'
            : `${plural(row.usage.count, 'time')}, last at ${formatTime(row.usage.lastAt)} with ${shortDigest(row.usage.revision)}`}
        </Fact>
        <Fact label="Folder">
          <span class="path">{row.location}</span> ({row.source})
        </Fact>
        {others.map(each => (
          <Fact key={keyOfRow(each)} label="Also at">
            <button type="button" class="plain" onClick={() => (selectedPlace.value = keyOfRow(each))}>
              <span class="path">{each.location}</span>
            </button>{' '}
            ({each.source}, {each.status})
          </Fact>
        ))}
        {row.copies.map(copy => (
          <Fact key={keyOfRow(copy)} label="The same in">
            <span class="path">{copy.location}</span> ({copy.source})
          </Fact>
        ))}
      </dl>
    </>
  )
}

/** Renders a note if the shown text is not the served text. */
function NotServed({ row, detail }: SourceProps): ComponentChildren {
  if (detail.revision === null || detail.revision === row.serving) return null
  return (
    <p class="note">
      This folder is not served, because its status is {row.status}. This is its newest text,{' '}
      <code>{shortDigest(detail.revision)}</code>.
    </p>
  )
}

interface InstructionsProps {
  readonly detail: SkillDetail
  readonly onFile: (path: string) => void
}

function Instructions({ detail, onFile }: InstructionsProps): ComponentChildren {
  if (detail.body === null) return <p class="empty">There is no readable text.</p>
  const paths = new Set(detail.files.map(file => file.path))
  return <Markdown text={detail.body} paths={paths} onFile={onFile} />
}

interface SourceProps {
  readonly row: SkillRow
  readonly detail: SkillDetail
}

function Source({ row, detail }: SourceProps): ComponentChildren {
  const text = detail.refusedText ?? detail.text
  if (text === null) return <p class="empty">The text cannot be shown.</p>
  // Shows diagnostics between the lines only for the newest text, because their line numbers refer to the newest text.
  const isNewest = detail.refusedText !== null || detail.revision === row.revision
  const findings = isNewest ? row.diagnostics.filter(({ path }) => isAboutInstructions(row, path)) : []
  return (
    <>
      {detail.refusedText === null ? (
        <NotServed row={row} detail={detail} />
      ) : (
        <p class="note">This is the refused text on disk.</p>
      )}
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
