/** The options of a provider that place a cache breakpoint. */
export interface CacheBreakpoint {
  anthropic: { cacheControl: { type: 'ephemeral' } }
}

/**
 * Adds a cache breakpoint for models of Anthropic, which cache only up to a breakpoint. The breakpoint moves with the end
 * of each request. The options of the user have priority.
 *
 * @example
 * ```ts
 * import { withCacheBreakpoint } from '@skillstoke/adapters/ai-sdk'
 *
 * const options = withCacheBreakpoint({ anthropic: { effort: 'low' } })
 * console.log(options.anthropic.cacheControl.type) // prints ephemeral
 * ```
 */
export function withCacheBreakpoint<Options extends object>(
  given: Options | undefined,
): Options & CacheBreakpoint {
  const own = given as { readonly anthropic?: object } | undefined
  const cache: CacheBreakpoint = { anthropic: { cacheControl: { type: 'ephemeral' }, ...own?.anthropic } }
  return { ...given, ...cache } as Options & CacheBreakpoint
}
