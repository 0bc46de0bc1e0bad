/** One rule that every implementation of an interface must obey. `check` throws if the subject breaks the rule. */
export interface ConformanceCase<Subject> {
  readonly name: string
  check(subject: Subject): Promise<void>
}

/** Throws if a condition of a conformance suite is false. */
export function expect(condition: boolean, what: string): void {
  if (!condition) throw new Error(`expected: ${what}`)
}

/** Compares two JSON values. Throws if they differ. */
export function expectEqual(actual: unknown, expected: unknown, what: string): void {
  const [is, shouldBe] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (is !== shouldBe) throw new Error(`${what}: got ${is}, expected ${shouldBe}`)
}

/** Throws unless the function fails with the given code. */
export async function expectCode(work: () => unknown, code: string, what: string): Promise<void> {
  const failure = await (async () => await work())().then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expectEqual((failure as { code?: unknown } | undefined)?.code, code, `${what} fails with`)
}
