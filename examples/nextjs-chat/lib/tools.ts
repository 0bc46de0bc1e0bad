import { type InferUITools, tool, type UIMessage } from 'ai'
import { z } from 'zod'

/** The tools of the application. The skill tools are added in the route. */
export const tools = {
  findOrder: tool({
    description: 'Finds an order by its number.',
    inputSchema: z.object({ number: z.string() }),
    outputSchema: z.object({ status: z.string() }),
    execute: ({ number }) => ({ status: `Order ${number} was delivered 20 days ago.` }),
  }),
}

/** The data parts of a message. */
export const dataSchemas = {
  /** The names of the skills that the turn loaded. */
  skills: z.array(z.string()),
}

export type ChatMessage = UIMessage<
  unknown,
  { skills: z.infer<typeof dataSchemas.skills> },
  InferUITools<typeof tools>
>
