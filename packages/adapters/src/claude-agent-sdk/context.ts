/** The part of a hook's result that adds text to the conversation. */
interface ContextOutput {
  readonly hookSpecificOutput?: { readonly hookEventName: string; readonly additionalContext: string }
}

type ReadContext<Input> = (input: Input) => Promise<string | undefined>
type ContextHook<Input> = (input: Input, id: string | undefined) => Promise<ContextOutput>

/** Claude Code shows only the first 2 KB of a longer text, and writes the text to a file. */
const MAX_CHARACTERS = 10_000

/** Enough for the loaded skills and the catalog at their default limits, 12,000 tokens. */
const LONG_PARTS = 6

/** Returns a hook that adds a text of at most 10,000 characters to the conversation. */
export function createContextHook<Input>(event: string, read: ReadContext<Input>): ContextHook<Input> {
  return async input => toOutput(event, await read(input))
}

/**
 * Returns hooks that together add one long text to the conversation. Claude Code calls all of them for the same event,
 * with the same id, and keeps their order.
 */
export function createLongContextHooks<Input>(event: string, read: ReadContext<Input>): ContextHook<Input>[] {
  const open = new Map<string | undefined, Promise<readonly string[]>>()
  const hook = async (index: number, input: Input, id: string | undefined): Promise<ContextOutput> => {
    let parts = open.get(id)
    if (parts === undefined) {
      parts = read(input).then((text = '') => splitText(text))
      open.set(id, parts)
    }
    if (index === LONG_PARTS - 1) open.delete(id)
    return toOutput(event, (await parts)[index])
  }
  return Array.from(
    { length: LONG_PARTS },
    (_, index) => async (input: Input, id: string | undefined) => await hook(index, input, id),
  )
}

function toOutput(event: string, text: string | undefined): ContextOutput {
  return text === undefined || text === ''
    ? {}
    : { hookSpecificOutput: { hookEventName: event, additionalContext: text } }
}

/** Splits a text at line breaks, if possible. The last part contains the rest, however long it is. */
function splitText(text: string): string[] {
  const parts: string[] = []
  let rest = text
  while (rest.length > MAX_CHARACTERS && parts.length < LONG_PARTS - 1) {
    const line = rest.lastIndexOf('\n', MAX_CHARACTERS)
    const end = line > 0 ? line : endOfCharacter(rest, MAX_CHARACTERS)
    parts.push(rest.slice(0, end))
    rest = rest.slice(line > 0 ? end + 1 : end)
  }
  return [...parts, rest]
}

/** Returns the place, or the place before it if a character of two code units would be cut. */
function endOfCharacter(text: string, place: number): number {
  return text.charCodeAt(place - 1) >= 0xd8_00 && text.charCodeAt(place - 1) < 0xdc_00 ? place - 1 : place
}
