/** Fails a promise of a conformance suite. */
export function expect(condition: boolean, what: string): void {
  if (!condition) throw new Error(`not so: ${what}`)
}

/** Compares two JSON values. */
export function expectEqual(actual: unknown, expected: unknown, what: string): void {
  const [is, shouldBe] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (is !== shouldBe) throw new Error(`${what}: ${is} instead of ${shouldBe}`)
}

/** Expects a failure of this code. */
export async function expectCode(work: () => unknown, code: string, what: string): Promise<void> {
  const failure = await (async () => await work())().then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expectEqual((failure as { code?: unknown } | undefined)?.code, code, `${what} fails with`)
}
