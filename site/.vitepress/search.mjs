// Options of the search. VitePress copies the source of each function into the site, so a function uses nothing outside of itself.
export const search = {
  options: {
    /** Drops words that every question has. */
    processTerm: term =>
      /^(?:a|an|and|are|at|be|by|can|do|does|for|from|good|have|how|i|in|is|it|its|me|my|of|on|or|our|that|the|their|this|to|use|using|we|what|when|where|which|who|why|will|with|without|you|your)$/i.test(
        term,
      )
        ? null
        : term.toLowerCase(),
  },
  searchOptions: {
    fuzzy: term => (term.length > 4 ? 0.2 : 0),
    prefix: term => term.length > 2,
    boost: { title: 8, titles: 4, text: 1 },
    /** Ranks guides and codes first, then pages for contributors, and pages of the API last. The id of a result contains the path of its page. */
    boostDocument: id =>
      id.includes('/api/')
        ? 0.1
        : /\/(?:checks|cli-reference|decisions|design|recipes|architecture|contributing|moving)\b/i.test(id)
          ? 0.2
          : id.includes('#')
            ? 1
            : 1.5,
  },
}
