import {
  CodeActionKind,
  createConnection,
  type InitializeResult,
  ProposedFeatures,
  TextDocumentSyncKind,
  TextDocuments,
} from 'vscode-languageserver/node'
import { TextDocument } from 'vscode-languageserver-textdocument'
import { complete } from './complete.ts'
import { describeAt } from './hover.ts'
import { OpenSkills, type OpenSkillsOptions } from './open-skills.ts'
import { listActions } from './show-findings.ts'

/** What the language server needs from its host. */
export interface LanguageServerOptions extends OpenSkillsOptions {
  readonly countTokens: (text: string) => number
  readonly version: string
}

/**
 * Serves an editor over standard input and output. The editor ends the process.
 *
 * @example
 * ```ts no-run
 * import { readFile } from 'node:fs/promises'
 * import { serveLanguageServer } from '@skillstoke/author/lsp'
 *
 * serveLanguageServer({
 *   version: '1.0.0',
 *   checks: {},
 *   countTokens: text => Math.ceil(text.length / 4),
 *   openFolder: async path => ({
 *     read: async () => ({ path, bytes: await readFile(path) }),
 *     [Symbol.asyncDispose]: async () => undefined,
 *   }),
 * })
 * ```
 */
export function serveLanguageServer(options: LanguageServerOptions): void {
  const connection = createConnection(ProposedFeatures.all, process.stdin, process.stdout)
  const documents = new TextDocuments(TextDocument)
  const skills = new OpenSkills(connection, documents, options)
  documents.onDidChangeContent(({ document }) => skills.textChanged(document))
  documents.onDidClose(({ document }) => skills.textClosed(document))
  connection.onInitialize(() => describeServer(options.version))
  connection.onCodeAction(async ({ textDocument, range }) => {
    const open = await skills.open(textDocument.uri)
    return open === undefined ? [] : listActions(open, range)
  })
  connection.onCompletion(async ({ textDocument, position }) => {
    const open = await skills.open(textDocument.uri)
    return open === undefined ? [] : complete(open, position)
  })
  connection.onHover(async ({ textDocument, position }) => {
    const open = await skills.open(textDocument.uri)
    const value = open === undefined ? undefined : describeAt(open, position, options.countTokens)
    return value === undefined ? null : { contents: { kind: 'markdown', value } }
  })
  documents.listen(connection)
  connection.listen()
}

function describeServer(version: string): InitializeResult {
  return {
    serverInfo: { name: 'stoke', version },
    capabilities: {
      textDocumentSync: TextDocumentSyncKind.Incremental,
      codeActionProvider: { codeActionKinds: [CodeActionKind.QuickFix] },
      completionProvider: { triggerCharacters: ['(', '`', '/'] },
      hoverProvider: true,
    },
  }
}
