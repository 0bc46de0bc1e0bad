/** Says why a request failed. `fetch` throws a TypeError if there is no answer. */
export function describeFailure(error: unknown): string {
  if (error instanceof TypeError) return `the dev server did not answer: ${error.message}`
  return error instanceof Error ? error.message : String(error)
}
