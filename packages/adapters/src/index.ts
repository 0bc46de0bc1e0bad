// Types that the adapters share: `@skillstoke/adapters`. Each adapter has a subpath.
export type { LiveChildOptions, LiveOptions } from './live-conversation.ts'
