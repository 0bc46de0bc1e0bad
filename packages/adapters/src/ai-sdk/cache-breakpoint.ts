/** The options of a provider that place a cache breakpoint. */
export interface CacheBreakpoint {
  anthropic: { cacheControl: { type: 'ephemeral' } }
}

/**
 * Adds a cache breakpoint for models of Anthropic, which cache only up to a breakpoint. The breakpoint moves with the end
 * of each request. The options of the user have priority.
 */
export function withCacheBreakpoint<Options extends object>(
  given: Options | undefined,
): Options & CacheBreakpoint {
  const own = given as { readonly anthropic?: object } | undefined
  const cache: CacheBreakpoint = { anthropic: { cacheControl: { type: 'ephemeral' }, ...own?.anthropic } }
  return { ...given, ...cache } as Options & CacheBreakpoint
}
