import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import type { SkillRow } from 'skillstoke/client'
import { client } from '../client.ts'
import { listNames } from '../client-groups.ts'
import { Card } from '../parts/card.tsx'
import { ChangeButton } from '../parts/change-button.tsx'
import { Shape } from '../parts/icons.tsx'
import { act } from '../parts/overlay.tsx'
import { useValue } from '../parts/use-loaded.ts'
import { toHash } from '../route.ts'
import { connection, status } from '../store.ts'
import { ChatTurnView } from './chat-turn.tsx'
import { ask, type ChatTurn, chatOf, startOver } from './chats.ts'

interface TryCardProps {
  readonly row: SkillRow
  /** Messages that the person can send with one click. */
  readonly examples: readonly string[]
}

/** Sends messages to the model in a conversation beside the skill, and says which skill was loaded. */
export function TryCard({ row, examples }: TryCardProps): ComponentChildren {
  const { name } = row
  const { id, turns, stop } = chatOf(name)
  const { model = '' } = status.value ?? {}
  const asks =
    model === 'offline' ? 'asks the offline model; start dev with --model for a real one' : `asks ${model}`
  return (
    <Card title="Try a message" side={<span class="r m">{asks}</span>}>
      <div class="try">
        {turns.length > 0 && (
          <div role="log" aria-label="Conversation" aria-busy={stop !== undefined}>
            {turns.map((turn, index) => {
              const isRunning = stop !== undefined && index === turns.length - 1
              return (
                <div key={index} class="turn">
                  <ChatTurnView name={name} turn={turn} isRunning={isRunning} />
                  {!isRunning && <Outcome name={name} turn={turn} />}
                </div>
              )
            })}
          </div>
        )}
        <Question row={row} stop={stop} />
        <div class="bar-x">
          {examples.map(each => (
            <button
              key={each}
              type="button"
              class="chip"
              disabled={stop !== undefined || connection.value !== 'live'}
              onClick={() => void ask(name, each)}
            >
              <span class="cut">{each}</span>
            </button>
          ))}
          {turns.length > 0 && (
            <button type="button" class="btn sm bare" onClick={() => startOver(name)}>
              New conversation
            </button>
          )}
        </div>
        {id !== undefined && (
          <a class="s" href={toHash({ view: 'agents', chosen: id })}>
            Exact prompt, notices and tokens
          </a>
        )}
      </div>
    </Card>
  )
}

interface QuestionProps {
  readonly row: SkillRow
  /** Stops the answer that is being written. Absent if there is none. */
  readonly stop: (() => void) | undefined
}

function Question({ row: { name, visibility }, stop }: QuestionProps): ComponentChildren {
  const question = useSignal('')
  const isInvoked = useSignal(visibility === 'hidden')
  const box = useRef<HTMLTextAreaElement>(null)
  const canSend = stop === undefined && (isInvoked.value || question.value.trim() !== '')
  const send = (event: Event): void => {
    event.preventDefault()
    if (!canSend) return
    void ask(name, question.value.trim(), isInvoked.value)
    question.value = ''
    box.current?.focus()
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    // While an input method composes a character, Enter and Esc belong to the input method.
    if (event.isComposing) return
    if (event.key === 'Enter' && !event.shiftKey) send(event)
    else if (event.key === 'Escape' && stop !== undefined) {
      event.stopPropagation()
      stop()
    }
  }
  return (
    <form class="bar-x ask" onSubmit={send}>
      <textarea
        class="field grow"
        aria-label="Message"
        placeholder="A message, as a person would write it"
        ref={box}
        rows={1}
        value={question.value}
        onInput={event => (question.value = event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <label class="check s">
        <input
          type="checkbox"
          checked={isInvoked.value}
          onChange={event => (isInvoked.value = event.currentTarget.checked)}
        />
        as <code>/{name}</code>
      </label>
      {stop === undefined ? (
        <ChangeButton class="btn primary" type="submit" disabled={!canSend}>
          Send <kbd>↵</kbd>
        </ChangeButton>
      ) : (
        <button type="button" class="btn" onClick={stop}>
          Cancel
        </button>
      )}
    </form>
  )
}

interface OutcomeProps {
  readonly name: string
  readonly turn: ChatTurn
}

/** Says which skill a message loaded and which were close, and offers to keep the message as a test. */
function Outcome({ name, turn }: OutcomeProps): ComponentChildren {
  const { question, isInvoked, events } = turn
  const isAsked = question !== '' && !isInvoked
  const ranked = useValue(isAsked ? () => client.rank(question) : undefined, [question, isAsked])
  const loaded = events.flatMap(event => {
    if (event.kind === 'skill-invoked') return event.name
    if (event.kind !== 'tool-call' || event.name !== 'skill') return []
    const { name: asked }: { readonly name?: unknown } = Object(event.input)
    return typeof asked === 'string' ? asked : []
  })
  const near = (ranked?.skills ?? []).filter(each => !loaded.includes(each)).slice(0, 2)
  const makeTest = (kind: 'fires' | 'silent') => (): void =>
    act(async () => ({
      text: `Written to ${(await client.addTest({ skill: name, kind, message: question })).path}.`,
    }))
  return (
    <div class="bar-x s">
      <Shape name={loaded.includes(name) ? 'check' : 'quiet'} />
      <span class="grow">
        {loaded.length === 0 ? 'Loaded no skill.' : `Loaded ${listNames([...new Set(loaded)])}.`}
        {near.length > 0 && ` Close by its words: ${near.join(', ')}.`}
      </span>
      {isAsked && (
        <>
          <span class="m">Make this a test:</span>
          <ChangeButton onClick={makeTest('fires')}>should load {name}</ChangeButton>
          <ChangeButton onClick={makeTest('silent')}>should not</ChangeButton>
        </>
      )}
    </div>
  )
}
