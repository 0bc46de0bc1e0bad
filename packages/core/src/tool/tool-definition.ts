/** What a tool answers: text for the model, and whether it is a failure that the model can do something about. */
export interface ToolResult {
  readonly text: string
  readonly isError: boolean
}

/** Something that a model may call. Name, description and schema never change while a conversation lasts. */
export interface ToolDefinition {
  /** Matches `[A-Za-z0-9_-]{1,64}`. */
  readonly name: string
  readonly description: string
  /** JSON Schema of the input object. */
  readonly inputSchema: Readonly<Record<string, unknown>>
  /** Never throws for what a model did wrong: that is a result with `isError` and a way forward. */
  execute(input: unknown): Promise<ToolResult>
}

/** The text field of an input, or an explanation of what should have been sent. */
export function readTextField(
  input: unknown,
  key: string,
): { readonly value: string | undefined } | ToolResult {
  const fields = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {}
  const value = Object.hasOwn(fields, key) ? fields[key] : undefined
  if (value === undefined || value === null) return { value: undefined }
  if (typeof value === 'string') return { value }
  return toolFailure(`"${key}" is ${JSON.stringify(value)}; it must be text`)
}

export function toolFailure(text: string): ToolResult {
  return { text, isError: true }
}

export function toolSuccess(text: string): ToolResult {
  return { text, isError: false }
}
