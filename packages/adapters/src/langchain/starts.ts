import { RecentMap } from '../recent-map.ts'
import type { LangChainGraphState } from './messages.ts'
import type { LangChainState, LangChainUpdate } from './thread.ts'

/** The part of LangGraph's `BaseStore` that the adapter uses. */
export interface LangChainStore {
  get(namespace: string[], key: string): Promise<{ readonly value: unknown } | null>
  put(namespace: string[], key: string, value: Record<string, unknown>): Promise<void>
}

/** Stands in the graph's state for a start that the store of the host contains. */
type Reference = Pick<LangChainState, 'origin' | 'version'>

const NAMESPACE = ['skillstoke']
const MAX_KNOWN = 1_000

/**
 * The starts of conversations that are in the store of the host, so that the checkpoints contain only references. A start
 * contains the catalog, and most savers write the whole state at each step.
 */
export class StoredStarts {
  /** By version. A start never changes. */
  readonly #known = new RecentMap<LangChainState>(MAX_KNOWN)

  /** Returns the state with its start. Without the start, if the store has lost it: the conversation then begins anew. */
  async recall(state: LangChainGraphState, store: LangChainStore | undefined): Promise<LangChainGraphState> {
    const { _skillstoke: stored }: { readonly _skillstoke?: LangChainState | Reference | undefined } = state
    if (stored === undefined || 'session' in stored) return state
    const { version } = stored
    const start = this.#known.get(version) ?? (await store?.get(NAMESPACE, version))?.value
    if (start === undefined) return { ...state, _skillstoke: undefined }
    this.#known.use(version, start as LangChainState)
    return { ...state, _skillstoke: start as LangChainState }
  }

  /** Puts the start of an update into the store. */
  async keep(
    update: LangChainUpdate | undefined,
    store: LangChainStore | undefined,
  ): Promise<LangChainUpdate | undefined> {
    const { _skillstoke: start }: { readonly _skillstoke?: unknown } = update ?? {}
    if (update === undefined || start === undefined || store === undefined) return update
    const known = start as LangChainState
    const { origin, version } = known
    await store.put(NAMESPACE, version, { ...known })
    this.#known.use(version, known)
    return { ...update, _skillstoke: { origin, version } satisfies Reference as never }
  }
}
