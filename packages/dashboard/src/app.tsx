import { effect } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { groups } from './client-groups.ts'
import { FindDialog } from './find-dialog.tsx'
import { KeysDialog } from './keys-dialog.tsx'
import { Flame, Icon, Shape } from './parts/icons.tsx'
import { openDialog, ToastView } from './parts/overlay.tsx'
import { QuestionDialog } from './parts/question-dialog.tsx'
import { formatMoment } from './parts/time.tsx'
import { route, toHash, type ViewName } from './route.ts'
import { LostDrafts } from './skill/drafts.tsx'
import { stateOf } from './skill-state.ts'
import { connection, findRow, lostAt, rows, status } from './store.ts'
import { toggleTheme } from './theme.ts'
import { AgentsView } from './views/agents.tsx'
import { ChangesView } from './views/changes.tsx'
import { FleetView } from './views/fleet.tsx'
import { NewSkillDialog } from './views/new-skill.tsx'
import { Overview } from './views/overview.tsx'
import { SkillsView } from './views/skills.tsx'

const VIEWS: Readonly<Record<ViewName, readonly [title: string, View: () => ComponentChildren]>> = {
  overview: ['Overview', Overview],
  skills: ['Skills', SkillsView],
  agents: ['Agents', AgentsView],
  changes: ['All changes', ChangesView],
  fleet: ['Fleet', FleetView],
}

export function App(): ComponentChildren {
  if (connection.value === 'refused') return <Refused />
  const [, View] = VIEWS[route.value.view]
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to content
      </button>
      <TopBar />
      {lostAt.value !== undefined && <Gone since={lostAt.value} />}
      {status.value === undefined ? (
        <main id="main" class="page" tabIndex={-1}>
          <p class="m">Waiting for the dev server …</p>
        </main>
      ) : (
        <View />
      )}
      <QuestionDialog />
      {openDialog.value === 'find' && <FindDialog />}
      {openDialog.value === 'keys' && <KeysDialog />}
      {openDialog.value === 'new-skill' && <NewSkillDialog />}
      <ToastView />
    </>
  )
}

function TopBar(): ComponentChildren {
  const { value } = status
  const hasFleet = value?.sources.some(({ path }) => path.startsWith('fleet:'))
  return (
    <header class="top">
      <a class="brand" href="#/" aria-label="Skillstoke">
        <Flame />
        <span>Skillstoke</span>
      </a>
      {value !== undefined && <span class="proj">{value.project}</span>}
      <nav class="nav" aria-label="Main">
        <NavLink view="overview" />
        <NavLink view="skills" count={rows.value.length} />
        <NavLink view="agents" count={groups.value.length} />
        {hasFleet && <NavLink view="fleet" />}
      </nav>
      <button type="button" class="find" onClick={() => (openDialog.value = 'find')}>
        <Icon name="search" />
        <span class="grow">Find or do</span>
        <kbd>/</kbd>
      </button>
      <Watching />
      <button type="button" class="btn bare icon theme" aria-label="Light or dark" onClick={toggleTheme}>
        <Icon name="theme" />
      </button>
      <button
        type="button"
        class="btn bare icon help"
        aria-label="Keys and help"
        onClick={() => (openDialog.value = 'keys')}
      >
        ?
      </button>
    </header>
  )
}

function Watching(): ComponentChildren {
  const word = { connecting: 'Connecting', live: 'Live', lost: 'Stopped', refused: '' }[connection.value]
  const isLost = connection.value === 'lost'
  const paths = status.value?.sources.map(({ path }) => path).join(', ')
  return (
    <span class="watch" id="watch" role="status" title={isLost ? undefined : `Watching ${paths}`}>
      <Shape name={isLost ? 'broken' : connection.value === 'live' ? 'live' : 'quiet'} />
      <span>{word}</span>
    </span>
  )
}

function NavLink({ view, count }: { readonly view: ViewName; readonly count?: number }): ComponentChildren {
  return (
    <a href={toHash({ view })} aria-current={route.value.view === view ? 'page' : undefined}>
      {VIEWS[view][0]}
      {count !== undefined && <span class="n">{count}</span>}
    </a>
  )
}

/** Says what stays good while the server is away, and how to start it again. */
function Gone({ since }: { readonly since: Date }): ComponentChildren {
  const command = status.value?.command ?? 'stoke dev'
  return (
    <div class="gone" role="alert">
      <Shape name="broken" />
      <p>
        <strong>Skillstoke stopped at {formatMoment(since)}.</strong> Agents keep the skills they have. What
        you save now reaches them when it runs again.
      </p>
      <div class="cmd">
        <code>{command}</code>
        <button type="button" class="btn sm" onClick={() => void navigator.clipboard?.writeText(command)}>
          <Icon name="copy" />
          Copy
        </button>
      </div>
      <span class="s m">The page retries every few seconds and continues by itself.</span>
    </div>
  )
}

function Refused(): ComponentChildren {
  return (
    <main class="page">
      <h1>Skillstoke</h1>
      <p class="lead" role="alert">
        This page needs the token of the running dev server. Open the address that <code>stoke dev</code>{' '}
        printed in the terminal, or press <kbd>o</kbd> there.
      </p>
      <LostDrafts isLost={() => true} />
    </main>
  )
}

/** Names the view, or the skill and its state, in the title of the window. */
export function followTitle(): void {
  effect(() => {
    const { view, chosen } = route.value
    const row = view === 'skills' && chosen !== undefined ? findRow(chosen) : undefined
    const word = row && stateOf(row).word
    const what = row === undefined ? VIEWS[view][0] : word === '' ? row.name : `${row.name} (${word})`
    document.title = [what, status.value?.project, 'Skillstoke'].filter(Boolean).join(' · ')
  })
}
