import { toMessage } from '@skillstoke/core/internal'
import {
  CodeActionKind,
  type Connection,
  createConnection,
  type InitializeResult,
  ProposedFeatures,
  TextDocumentSyncKind,
  TextDocuments,
} from 'vscode-languageserver/node'
import { TextDocument } from 'vscode-languageserver-textdocument'
import type { CheckOptions } from '../check/check-skill.ts'
import type { Finding } from '../check/finding.ts'
import { complete } from './complete.ts'
import { describeAt } from './hover.ts'
import { type LoadSkill, OpenSkills } from './open-skills.ts'
import { listActions, toDiagnostic } from './show-findings.ts'

/** What the language server needs from its host. */
export interface LanguageServerOptions extends CheckOptions {
  /** Reads a skill from the disk. The texts of open documents replace what it reads. */
  readonly load: LoadSkill
  readonly countTokens: (text: string) => number
  readonly version: string
}

/** Checks wait for a pause of this length in the typing. */
const PAUSE_MS = 150

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
 *   countTokens: text => Math.ceil(text.length / 4),
 *   load: async path => ({ path, bytes: await readFile(path) }),
 * })
 * ```
 */
export function serveLanguageServer(options: LanguageServerOptions): void {
  const connection = createConnection(ProposedFeatures.all, process.stdin, process.stdout)
  const documents = new TextDocuments(TextDocument)
  const publisher = new FindingPublisher(connection, documents, options)
  const { skills } = publisher
  documents.onDidChangeContent(({ document }) => publisher.textChanged(document.uri))
  documents.onDidClose(({ document }) => publisher.textChanged(document.uri))
  connection.onInitialize(() => describeServer(options.version))
  connection.onCodeAction(async ({ textDocument, range, context }) => {
    const open = await skills.open(textDocument.uri)
    return open === undefined ? [] : listActions(open, range, context.only)
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
      codeActionProvider: { codeActionKinds: [CodeActionKind.QuickFix, CodeActionKind.SourceFixAll] },
      completionProvider: { triggerCharacters: ['(', '`', '/'] },
      hoverProvider: true,
    },
  }
}

/** Sends the findings about the skills of the open documents. */
class FindingPublisher {
  readonly skills: OpenSkills
  readonly #connection: Connection
  readonly #documents: TextDocuments<TextDocument>
  /** Checks that wait for a pause, by the path of SKILL.md. */
  readonly #waiting = new Map<string, NodeJS.Timeout>()
  /** Addresses of the files whose findings the editor shows, by the path of SKILL.md. */
  readonly #shown = new Map<string, readonly string[]>()

  constructor(
    connection: Connection,
    documents: TextDocuments<TextDocument>,
    options: LanguageServerOptions,
  ) {
    this.skills = new OpenSkills(documents, options, skillFile => this.#checkLater(skillFile))
    this.#connection = connection
    this.#documents = documents
  }

  textChanged(uri: string): void {
    const skillFile = this.skills.findSkillFile(uri)
    if (skillFile !== undefined) this.#checkLater(skillFile)
  }

  #checkLater(skillFile: string): void {
    this.skills.forget(skillFile)
    clearTimeout(this.#waiting.get(skillFile))
    const timer = setTimeout(() => {
      const isNewest = (): boolean => this.#waiting.get(skillFile) === timer
      this.#publish(skillFile, isNewest).catch((thrown: unknown) =>
        this.#connection.console.error(toMessage(thrown)),
      )
    }, PAUSE_MS)
    this.#waiting.set(skillFile, timer)
  }

  async #publish(skillFile: string, isNewest: () => boolean): Promise<void> {
    const open = this.skills.listOpen(skillFile).map(({ uri }) => uri)
    const { findings } = open.length === 0 ? { findings: [] } : await this.skills.check(skillFile)
    if (!isNewest()) return
    const byFile = Map.groupBy(findings, ({ path }: Finding) => this.skills.toUri(path ?? skillFile))
    const shown = [...byFile.keys(), ...open]
    for (const uri of new Set([...shown, ...(this.#shown.get(skillFile) ?? [])])) {
      const diagnostics = (byFile.get(uri) ?? []).map(each => toDiagnostic(each, this.#documents.get(uri)))
      await this.#connection.sendDiagnostics({ uri, diagnostics })
    }
    this.#shown.set(skillFile, shown)
  }
}
