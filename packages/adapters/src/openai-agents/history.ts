import type { RebaseOptions, SessionState, SkillSession } from '@skillstoke/core'
import { type HistoryItem, isUserMessage, toUserMessage } from '../history-place.ts'
import { RecentMap } from '../recent-map.ts'
import { type HistoryState, replaceMessage, TrackedHistory, type Woven } from '../tracked-history.ts'

/** What the adapter stores besides the messages. */
export interface OpenaiHistoryState extends HistoryState {
  /** True if the provider stores the history, so that each request contains only new items. */
  readonly isRemote: boolean
}

/** If the provider stores the history, a run may continue any of this many responses. */
const MAX_RESPONSES = 100

/** The record of one conversation, whose history your code or the provider stores. */
export class OpenaiHistory extends TrackedHistory {
  /** True if the provider stores the history. */
  isRemote: boolean
  /** The run whose system prompt was read, until the filter of its options is called. */
  unfiltered: object | undefined
  /** The state after each response of the provider, by its id. */
  readonly #responses = new RecentMap<SessionState>(MAX_RESPONSES)

  constructor(session: SkillSession, options: RebaseOptions | undefined, state?: OpenaiHistoryState) {
    super(session, options, state)
    this.isRemote = state?.isRemote ?? false
  }

  override state(): OpenaiHistoryState {
    const { isRemote } = this
    if (isRemote) this.restart([])
    return { ...super.state(), isRemote }
  }

  /**
   * Returns the items of the next request if the provider stores the history. A run that continues an earlier response
   * replaces the runs after that response.
   */
  async prepareRemote<Item extends HistoryItem>(
    items: readonly Item[],
    responseId: string | undefined,
  ): Promise<Woven<Item>> {
    const last = items.at(-1)
    if (isUserMessage(last)) {
      if (responseId !== undefined) this.#continueResponse(responseId)
      this.session.beginTurn()
      const slash = await this.expandSlash(last)
      if (slash !== undefined) replaceMessage(last, slash.text)
    }
    const notice = await this.session.update()
    return notice === undefined ? [...items] : [...items, toUserMessage(notice.text)]
  }

  #continueResponse(id: string): void {
    const known = this.#responses.get(id)
    if (known !== undefined) this.session.revert(known)
    this.#responses.use(id, known ?? this.session.state())
  }
}
