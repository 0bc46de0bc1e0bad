import type { ComponentChildren } from 'preact'
import type { DecisionVerb, SkillRow } from 'skillstoke/client'
import { client } from '../client.ts'
import { ChangeButton } from '../parts/change-button.tsx'
import { FileDifference, LoadedDifference } from '../parts/difference.tsx'
import { plural } from '../parts/format.ts'
import { Icon } from '../parts/icons.tsx'
import { act, question, show, type Toast } from '../parts/overlay.tsx'
import { useValue } from '../parts/use-loaded.ts'
import { go, route } from '../route.ts'
import { isOwn, rows, sessions } from '../store.ts'

/** Opens the SKILL.md in the editor of the person who started the server. */
export function openEditor({ target }: SkillRow): void {
  act(async () => {
    const { editor, path } = await client.open(target)
    return { text: `Opened ${path} in ${editor}.` }
  })
}

/** Says which conversations a change may reach. Some of them may not see the skill. */
export function describeReached(): string {
  const { length } = sessions.value
  return length === 0
    ? 'No conversation is open'
    : `${plural(length, 'open conversation')} may get it at the next step`
}

/** Asks whether an earlier text should be restored, and shows what would change. */
export function askRestore(row: SkillRow, revision: string, when: string): void {
  const { target, name, serving, status } = row
  const where =
    isOwn(row) && status !== 'pinned'
      ? 'The files in your folder change.'
      : 'The skill stays at this text, whatever its source sends.'
  const broken = status === 'broken' ? ' The broken text is replaced; Undo brings it back.' : ''
  question.value = {
    title: `Restore the text of ${when}?`,
    text: `${describeReached()}. ${where}${broken}`,
    preview:
      status === 'broken' ? (
        <BrokenDifference row={row} revision={revision} />
      ) : (
        <LoadedDifference target={target} from={serving ?? row.revision ?? undefined} to={revision} />
      ),
    confirm: 'Restore',
    run: async () => {
      const before = await client.skill(target)
      const isBrokenNow = before.refusedText !== null && status !== 'broken'
      if (isBrokenNow || before.revision !== (serving ?? row.revision))
        return { text: `${name} has changed since. Look at it again.`, isFailure: true }
      const { how, from } = await client.rollback(target, revision)
      if (how === 'unchanged') return { text: `${name} has this text already.` }
      const restored = await client.skill(target)
      const undo = async (): Promise<void> => {
        // A kept text was kept before, too.
        const verb = status === 'pinned' ? 'pin' : 'unpin'
        const kept = verb === 'pin' && serving !== null ? { revision: serving } : {}
        const now = await client.skill(target)
        const isChanged = now.revision !== restored.revision
        if (how === 'pinned' && !isChanged)
          return void (await client.decide({ verb, skill: target, ...kept }))
        // A broken text has no revision. The server refuses the save if somebody changed the text in the meantime.
        if (how !== 'pinned' && before.refusedText !== null)
          return void (await client.save(target, restored.text ?? '', before.refusedText))
        if (isChanged || now.refusedText !== null)
          throw new Error(`${name} has changed since, so the text of ${when} was not taken back`)
        if (from !== undefined) await client.rollback(target, from)
      }
      return { text: `Restored the text of ${when}.`, undo }
    },
  }
}

/** Shows what a restore takes from a broken text. */
function BrokenDifference({
  row,
  revision,
}: {
  readonly row: SkillRow
  readonly revision: string
}): ComponentChildren {
  const texts = useValue(async () => {
    const [broken, wanted] = await Promise.all([
      client.skill(row.target),
      client.skill(row.target, { revision }),
    ])
    return { path: 'SKILL.md', before: broken.refusedText, after: wanted.text }
  }, [row.target, revision])
  return texts && <FileDifference texts={texts} />
}

/** Decides about the served text. Undo makes the opposite decision. */
async function decide(row: SkillRow, verb: DecisionVerb, text: string, back: DecisionVerb): Promise<Toast> {
  const { target, serving } = row
  const send = (verb: DecisionVerb): Promise<unknown> =>
    client.decide({ verb, skill: target, ...(verb === 'pin' && serving !== null && { revision: serving }) })
  await send(verb)
  return { text, undo: () => send(back) }
}

/** Says what agents read without this folder. */
function describeNext({ name, target }: SkillRow): string {
  const next = rows.value.find(
    each => each.name === name && each.target !== target && each.status === 'shadowed',
  )
  return next === undefined
    ? 'The model does not see it any more, and nobody can invoke it.'
    : `Agents then read the skill of the same name in ${next.source}.`
}

function askUnpin(row: SkillRow): void {
  const { name, target, serving, revision } = row
  const isNewer = revision !== null && revision !== serving
  question.value = {
    title: `Follow newer texts of ${name} again?`,
    text: isNewer
      ? `The newest text goes live${isOwn(row) ? '' : ', or waits for approval'}. ${describeReached()}.`
      : 'There is no newer text at the moment.',
    preview: isNewer && <LoadedDifference target={target} from={serving ?? undefined} to={revision} />,
    confirm: 'Follow',
    run: () => decide(row, 'unpin', `${name} follows newer texts again.`, 'pin'),
  }
}

function askDisable(row: SkillRow): void {
  const { name } = row
  const loaded = sessions.value.filter(each => each.loaded.some(skill => skill.name === name)).length
  question.value = {
    title: `Disable ${name} for all agents?`,
    text: `${describeNext(row)} ${loaded > 0 ? `${plural(loaded, 'conversation has', 'conversations have')} it loaded, and is told at the next step. ` : ''}The folder stays as it is.`,
    confirm: 'Disable',
    isDangerous: true,
    run: () => decide(row, 'disable', `Disabled ${name}.`, 'enable'),
  }
}

function askRemove(row: SkillRow): void {
  const { name, target, location } = row
  question.value = {
    title: `Remove the folder of ${name}?`,
    text: `${location} moves to the folder .trash beside it. ${describeNext(row)} Nothing is deleted.`,
    confirm: 'Remove',
    isDangerous: true,
    run: async () => {
      const { trash } = await client.remove(target)
      const { value: at } = route
      if (at.view === 'skills') go({ view: 'skills', query: at.query })
      const undo = async (): Promise<void> => {
        await client.putBack(trash)
        go({ view: 'skills', chosen: target, query: route.value.query })
      }
      return { text: `Removed ${name}. Its folder is now ${trash}.`, undo }
    },
  }
}

function copy(text: string): void {
  // Browsers have no clipboard for pages without HTTPS on another host.
  const { clipboard } = navigator as Partial<Navigator>
  const fail = (): void =>
    show({ text: `The browser refuses to copy. Copy it here: ${text}`, isFailure: true })
  if (clipboard === undefined) fail()
  else clipboard.writeText(text).then(() => show({ text: `Copied ${text}.` }), fail)
}

/** The menu of what is done rarely. A label that ends in `…` asks first. */
export function SkillMenu({ row }: { readonly row: SkillRow }): ComponentChildren {
  const { name, status, location, serving } = row
  const own = isOwn(row)
  return (
    <>
      <button type="button" class="btn icon" aria-label="More actions" popoverTarget="skill-menu">
        <Icon name="more" />
      </button>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: a click on a button also closes the menu */}
      <ul class="menu" id="skill-menu" popover="auto" onClick={event => event.currentTarget.hidePopover()}>
        {status === 'pinned' && (
          <MenuButton onClick={() => askUnpin(row)}>Follow newer texts again…</MenuButton>
        )}
        {status !== 'pinned' && serving !== null && (
          <MenuButton onClick={() => act(() => decide(row, 'pin', `${name} stays at this text.`, 'unpin'))}>
            Keep this text: ignore newer ones
          </MenuButton>
        )}
        {status === 'disabled' && (
          <MenuButton onClick={() => act(() => decide(row, 'enable', `Enabled ${name}.`, 'disable'))}>
            Enable
          </MenuButton>
        )}
        <li>
          <button type="button" onClick={() => copy(location)}>
            Copy the path
          </button>
        </li>
        {(status !== 'disabled' || own) && <li class="rule" />}
        {status !== 'disabled' && (
          <MenuButton look="danger" onClick={() => askDisable(row)}>
            Disable for all agents…
          </MenuButton>
        )}
        {own && (
          <MenuButton look="danger" onClick={() => askRemove(row)}>
            Remove the folder…
          </MenuButton>
        )}
      </ul>
    </>
  )
}

interface MenuButtonProps {
  readonly look?: 'danger'
  readonly onClick: () => void
  readonly children: ComponentChildren
}

function MenuButton({ look, ...rest }: MenuButtonProps): ComponentChildren {
  return (
    <li>
      <ChangeButton class={look ?? ''} {...rest} />
    </li>
  )
}
