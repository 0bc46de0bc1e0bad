import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { client } from '../client.ts'
import { ChangeButton } from '../parts/change-button.tsx'
import { describeFailure } from '../parts/describe-failure.ts'
import { closeDialog, isBusy, Modal, openDialog, show } from '../parts/overlay.tsx'
import { go } from '../route.ts'
import { hasFolder } from '../store.ts'

const NO_FOLDER = 'This server follows no folder of yours. Start it with one, for example: stoke dev skills'

export function NewSkillDialog(): ComponentChildren {
  const failure = useSignal(hasFolder() ? '' : NO_FOLDER)
  const create = async (form: HTMLFormElement): Promise<void> => {
    if (isBusy.value) return
    isBusy.value = true
    const { name = '', description = '' } = Object.fromEntries(new FormData(form)) as Record<string, string>
    try {
      const { row, folder } = await client.create({ name: name.trim(), description })
      // Cancel has closed the dialog, but the folder is there.
      if (openDialog.value === 'new-skill') go({ view: 'skills', chosen: row.target, tab: 'skill' })
      closeDialog()
      show({ text: `Created ${folder}.` })
    } catch (thrown) {
      failure.value = describeFailure(thrown)
    } finally {
      isBusy.value = false
    }
  }
  return (
    <Modal title="New skill">
      <form
        onSubmit={event => {
          event.preventDefault()
          void create(event.currentTarget)
        }}
      >
        <h2>New skill</h2>
        <div class="fields">
          <label class="s">
            Name, for example <code>vat-report</code>
            <input class="field" name="name" required />
          </label>
          <label class="s">
            What it does, and when to use it. The model reads only this before it loads the skill.
            <textarea
              class="field"
              name="description"
              rows={3}
              required
              placeholder="Writes VAT reports. Use when somebody asks for the VAT of a month."
            />
          </label>
          {failure.value !== '' && <p role="alert">{failure.value}</p>}
        </div>
        <footer>
          <button type="button" class="btn" onClick={closeDialog}>
            Cancel
          </button>
          <ChangeButton class="btn primary" type="submit" disabled={!hasFolder()}>
            Create
          </ChangeButton>
        </footer>
      </form>
    </Modal>
  )
}
