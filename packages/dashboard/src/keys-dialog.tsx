import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { shortDigest } from './parts/format.ts'
import { closeDialog, Modal } from './parts/overlay.tsx'
import { status } from './store.ts'

const KEY = 'skillstoke-single-keys'
/** Whether single keys do something. Speech input may type them by mistake. */
export const areKeysOn = signal(localStorage.getItem(KEY) !== 'off')

const KEYS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Anywhere: {
    '/': 'find or do',
    'g o': 'overview',
    'g s': 'skills',
    'g a': 'agents',
    'g c': 'all changes',
    c: 'new skill',
    '?': 'this list',
    'Ctrl Z': 'undo what the message below offers',
    Esc: 'close',
  },
  Skills: {
    'j k': 'next or previous skill',
    '1 to 4': 'tabs',
    t: 'tests and try',
    d: 'changes',
    e: 'edit',
    f: 'apply the next fix',
    'Ctrl S': 'save',
  },
  Approval: {
    j: 'next file; marks this one as seen',
    a: 'approve',
    r: 'reject',
    n: 'later: the next one',
  },
}

export function KeysDialog(): ComponentChildren {
  return (
    <Modal title="Keys">
      <h2>Keys</h2>
      <div class="keys">
        {Object.entries(KEYS).map(([title, keys]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {Object.entries(keys).map(([key, meaning]) => (
                <div key={key}>
                  <dt>
                    {key.split(' ').map(each => (
                      <kbd key={each}>{each}</kbd>
                    ))}
                  </dt>
                  <dd>{meaning}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <p class="s m">
        <About />
      </p>
      <p>
        <label class="check">
          <input
            type="checkbox"
            checked={areKeysOn.value}
            onChange={event => {
              areKeysOn.value = event.currentTarget.checked
              localStorage.setItem(KEY, areKeysOn.value ? 'on' : 'off')
            }}
          />
          Use single keys
        </label>
      </p>
      <footer>
        <button type="button" class="btn" onClick={closeDialog}>
          Close
        </button>
      </footer>
    </Modal>
  )
}

/** What a bug report needs. */
function About(): ComponentChildren {
  const { value } = status
  if (value === undefined) return null
  const { version, pid, generation, stateDirectory } = value
  return (
    <>
      Skillstoke {version}, process {pid}, generation {generation.number}{' '}
      <code>{shortDigest(generation.digest)}</code>, state in <code>{stateDirectory}</code>
    </>
  )
}
