import type { ApiErrorCode } from './api-types.ts'

/** The server said no, or something else than what it promises. */
export class ApiError extends Error {
  override readonly name: string = 'ApiError'
  readonly status: number
  readonly code: ApiErrorCode

  constructor(status: number, code: ApiErrorCode, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}
