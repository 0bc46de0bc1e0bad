// `@skillstoke/mcp/auth`: who may use an MCP server over HTTP.
export { type BearerClient, bearerTokens, hashToken } from './bearer-tokens.ts'
export { type OAuthResourceOptions, oauthResource } from './oauth-resource.ts'
