// For editors: findings while typing, quick fixes, completion and hovers over the Language Server Protocol.
export { type LanguageServerOptions, serveLanguageServer } from './language-server.ts'
export type { SkillFolder } from './open-skills.ts'
