import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type { SkillRow } from 'skillstoke/client'
import { client } from './client.ts'
import { Icon, type IconName, Shape } from './parts/icons.tsx'
import { act, closeDialog, Modal, openDialog } from './parts/overlay.tsx'
import { go } from './route.ts'
import { stateOf } from './skill-state.ts'
import { connection, rows } from './store.ts'
import { toggleTheme } from './theme.ts'

const MAX_SKILLS = 8

interface Choice {
  readonly label: string
  readonly hint: string
  readonly mark: ComponentChildren
  readonly run: () => void
}

const ACTIONS: readonly (readonly [label: string, icon: IconName, run: () => void])[] = [
  ['Open the overview', 'right', () => go({ view: 'overview' })],
  ['Open the skills', 'right', () => go({ view: 'skills' })],
  ['Open the agents', 'right', () => go({ view: 'agents' })],
  ['Open all changes', 'right', () => go({ view: 'changes' })],
  ['Light or dark', 'theme', toggleTheme],
  ['Show the keys', 'text', () => (openDialog.value = 'keys')],
]

/** What changes something, and needs the server. */
const CHANGES: typeof ACTIONS = [
  ['New skill', 'plus', () => (openDialog.value = 'new-skill')],
  [
    'Read all folders and sources again',
    'sort',
    () =>
      act(async () => {
        const { changes } = await client.reload({ timeoutMs: 60_000 })
        return { text: changes.length === 0 ? 'Nothing has changed.' : `${changes.length} changes found.` }
      }),
  ],
]

/** Finds skills by name and description, and does what the page can do. */
export function FindDialog(): ComponentChildren {
  const wanted = useSignal('')
  const at = useSignal(0)
  const choices = findChoices(wanted.value)
  const selected = Math.min(at.value, choices.length - 1)
  const choose = (choice: Choice | undefined): void => {
    if (choice === undefined) return
    closeDialog()
    choice.run()
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown') at.value = Math.min(selected + 1, choices.length - 1)
    else if (event.key === 'ArrowUp') at.value = Math.max(selected - 1, 0)
    else if (event.key === 'Enter') choose(choices[selected])
    else return
    event.preventDefault()
  }
  return (
    <Modal title="Find or do">
      <div class="finder">
        <Icon name="search" />
        <input
          type="text"
          role="combobox"
          aria-label="Find or do"
          aria-expanded="true"
          aria-controls="find-choices"
          aria-activedescendant={choices.length > 0 ? `choice-${selected}` : undefined}
          placeholder="A skill, or what to do"
          value={wanted.value}
          onInput={event => {
            wanted.value = event.currentTarget.value
            at.value = 0
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <div id="find-choices" class="choices" role="listbox" aria-label="Matches">
        {choices.map((choice, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys for its options
          // biome-ignore lint/a11y/useFocusableInteractive: the field has the focus, as a combobox does
          <div
            key={index}
            id={`choice-${index}`}
            role="option"
            aria-selected={index === selected}
            onClick={() => choose(choice)}
          >
            {choice.mark}
            <span class="cut">{choice.label}</span>
            <span class="m cut hint">{choice.hint}</span>
          </div>
        ))}
      </div>
      {choices.length === 0 && <p class="m none">Nothing is called like this.</p>}
    </Modal>
  )
}

function findChoices(wanted: string): readonly Choice[] {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean)
  const matches = (text: string): boolean => words.every(word => text.toLowerCase().includes(word))
  const rankOf = ({ name }: SkillRow): number => (matches(name) ? 0 : 1)
  const found = rows.value.filter(row => words.length > 0 && matches(`${row.name} ${row.description}`))
  const skills = found.sort((a, b) => rankOf(a) - rankOf(b)).slice(0, MAX_SKILLS)
  const actions = connection.value === 'live' ? [...CHANGES, ...ACTIONS] : ACTIONS
  return [
    ...skills.map(row => ({
      label: row.name,
      hint: stateOf(row).word || row.description,
      mark: <Shape name={stateOf(row).shape} />,
      run: () => go({ view: 'skills', chosen: row.target }),
    })),
    ...actions
      .filter(([label]) => matches(label))
      .map(([label, icon, run]) => ({ label, hint: '', mark: <Icon name={icon} />, run })),
  ]
}
