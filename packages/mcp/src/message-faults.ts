import { PROTOCOL_VERSION_META_KEY, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { showValue } from '@skillstoke/core/internal'

const MAX_LENGTH = 4_096
const FIELDS: readonly string[] = ['jsonrpc', 'id', 'method', 'params', 'result', 'error']

/**
 * Returns which field of a message is too long; `undefined` if all of them are short. Errors of the SDK repeat these
 * fields at their whole length.
 */
export function findLongField(message: unknown): string | undefined {
  const { id, method, params } = fieldsOf(message)
  const { name, uri: URI, _meta } = fieldsOf(params)
  const fields = { id, method, name, URI, 'protocol version': fieldsOf(_meta)[PROTOCOL_VERSION_META_KEY] }
  return Object.entries(fields)
    .map(([what, value]) => describeLong(what, value))
    .find(fault => fault !== undefined)
}

/** @throws {ProtocolError} -32602 for a value that an error of the SDK would repeat at its whole length */
export function requireShort(what: 'URI' | 'name', value: string): void {
  const fault = describeLong(what, value)
  if (fault !== undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, fault)
}

function describeLong(what: string, value: unknown): string | undefined {
  return typeof value === 'string' && value.length > MAX_LENGTH
    ? `the ${what} has ${value.length} characters; at most ${MAX_LENGTH} are allowed`
    : undefined
}

/** Returns why a value is no JSON-RPC message of MCP. */
export function describeInvalid(message: unknown): string {
  if (Array.isArray(message)) return 'batches are not supported; send one message in each line'
  const { jsonrpc, id, method, params } = fieldsOf(message)
  if (jsonrpc !== '2.0') return `"jsonrpc" is ${show(jsonrpc)}; use "2.0"`
  if (id !== undefined && !isRequestId(id))
    return `"id" is ${show(id)}; use a string or a whole number, or leave "id" out for a notification`
  if (typeof method !== 'string') return `"method" is ${show(method)}; use the name of a method`
  if (params !== undefined && !isPlainObject(params)) return `"params" is ${show(params)}; use an object`
  const unknown = Object.keys(fieldsOf(message)).find(field => !FIELDS.includes(field))
  return unknown === undefined
    ? 'the line is no JSON-RPC message; check "_meta" in "params"'
    : `there is no field ${showValue(unknown)}; put it into "params"`
}

export function isRequestId(value: unknown): value is string | number {
  return typeof value === 'string' || Number.isInteger(value)
}

function show(value: unknown): string {
  return value === undefined ? 'missing' : showValue(value)
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isPlainObject(value) ? value : {}
}
