import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  CodeActionRequest,
  CompletionRequest,
  createProtocolConnection,
  type Diagnostic,
  DidChangeTextDocumentNotification,
  DidCloseTextDocumentNotification,
  DidOpenTextDocumentNotification,
  ExitNotification,
  HoverRequest,
  InitializedNotification,
  InitializeRequest,
  type InitializeResult,
  type MarkupContent,
  type Position,
  type ProtocolConnection,
  PublishDiagnosticsNotification,
  ShutdownRequest,
  StreamMessageReader,
  StreamMessageWriter,
  type TextEdit,
} from 'vscode-languageserver/node'
import { TextDocument } from 'vscode-languageserver-textdocument'
import { BIN, stoke } from '../../../../tests/fixtures/cli.ts'
import { TemporaryFolder } from '../../../../tests/fixtures/skill-folder.ts'
import { CHECKS } from '../check/finding-table.ts'

/** An editor: a client of the protocol that runs the built command line, and keeps the texts and the findings. */
class Editor {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #connection: ProtocolConnection
  readonly #documents = new Map<string, TextDocument>()
  readonly #findings = new Map<string, readonly Diagnostic[]>()
  #changed = Promise.withResolvers<void>()
  server: InitializeResult | undefined
  stderr = ''

  constructor(folder: TemporaryFolder, args: readonly string[] = []) {
    this.#child = startServer(folder, args)
    this.#child.stderr.on('data', (data: Buffer) => {
      this.stderr += data.toString()
    })
    const { stdout, stdin } = this.#child
    this.#connection = createProtocolConnection(
      new StreamMessageReader(stdout),
      new StreamMessageWriter(stdin),
    )
    this.#connection.onNotification(PublishDiagnosticsNotification.type, ({ uri, diagnostics }) => {
      this.#findings.set(uri, diagnostics)
      this.#changed.resolve()
      this.#changed = Promise.withResolvers()
    })
    this.#connection.listen()
  }

  async start(): Promise<void> {
    const options = { processId: process.pid, rootUri: null, capabilities: {} }
    this.server = await this.#connection.sendRequest(InitializeRequest.type, options)
    await this.#connection.sendNotification(InitializedNotification.type, {})
  }

  /** Ends the server as the protocol says. Returns its exit code. */
  async end(): Promise<number | null> {
    const exited = once(this.#child, 'exit')
    await this.#connection.sendRequest(ShutdownRequest.type)
    await this.#connection.sendNotification(ExitNotification.type)
    const [code] = (await exited) as [number | null]
    this.#connection.dispose()
    return code
  }

  /** Ends the server as an editor that crashed does. */
  async crash(): Promise<number | null> {
    const exited = once(this.#child, 'exit')
    this.#child.stdin.end()
    const [code] = (await exited) as [number | null]
    this.#connection.dispose()
    return code
  }

  async open(path: string, text = readFileSync(path, 'utf8')): Promise<string> {
    const uri = path.startsWith('file:') ? path : pathToFileURL(path).href
    const textDocument = { uri, languageId: 'markdown', version: 1, text }
    this.#documents.set(uri, TextDocument.create(uri, 'markdown', 1, text))
    await this.#connection.sendNotification(DidOpenTextDocumentNotification.type, { textDocument })
    return uri
  }

  /** Replaces a part of a text, as typing does. */
  async type(uri: string, before: string, after: string): Promise<void> {
    const document = this.textOf(uri)
    const start = document.getText().indexOf(before)
    expect(start).toBeGreaterThanOrEqual(0)
    const range = { start: document.positionAt(start), end: document.positionAt(start + before.length) }
    const version = document.version + 1
    const contentChanges = [{ range, text: after }]
    this.#documents.set(uri, TextDocument.update(document, contentChanges, version))
    const textDocument = { uri, version }
    await this.#connection.sendNotification(DidChangeTextDocumentNotification.type, {
      textDocument,
      contentChanges,
    })
  }

  async close(uri: string): Promise<void> {
    await this.#connection.sendNotification(DidCloseTextDocumentNotification.type, { textDocument: { uri } })
  }

  /** Waits until a document has exactly these findings, in the order of their lines. */
  async waitFor(uri: string, codes: readonly string[]): Promise<readonly Diagnostic[]> {
    const list = (): readonly Diagnostic[] | undefined => this.#findings.get(uri)
    const isThere = (): boolean => JSON.stringify(list()?.map(({ code }) => code)) === JSON.stringify(codes)
    const timeout = AbortSignal.timeout(10_000)
    while (!isThere()) {
      if (timeout.aborted) expect(list()?.map(({ code }) => code)).toEqual(codes)
      await Promise.race([this.#changed.promise, once(timeout, 'abort')])
    }
    return list() ?? []
  }

  textOf(uri: string): TextDocument {
    return this.#documents.get(uri) as TextDocument
  }

  /** Returns the position behind the first occurrence of a text. */
  #behind(uri: string, text: string): Position {
    const document = this.textOf(uri)
    return document.positionAt(document.getText().indexOf(text) + text.length)
  }

  async actions(uri: string, at: string): Promise<readonly ActionRow[]> {
    const position = this.#behind(uri, at)
    const actions = await this.#connection.sendRequest(CodeActionRequest.type, {
      textDocument: { uri },
      range: { start: position, end: position },
      context: { diagnostics: [] },
    })
    return (actions ?? []).map(action => {
      if (!('edit' in action)) throw new Error('the action has no edit')
      const edits: readonly TextEdit[] = action.edit?.changes?.[uri] ?? []
      return {
        ...{ title: action.title, kind: action.kind, isPreferred: action.isPreferred },
        text: TextDocument.applyEdits(this.textOf(uri), [...edits]),
      }
    })
  }

  /** Returns the labels of the completions, and the text after the first one was chosen. */
  async complete(uri: string, at: string, label?: string): Promise<{ labels: string[]; text: string }> {
    const answer = await this.#connection.sendRequest(CompletionRequest.type, {
      textDocument: { uri },
      position: this.#behind(uri, at),
    })
    const items = Array.isArray(answer) ? answer : (answer?.items ?? [])
    const chosen = items.find(item => label === undefined || item.label === label)
    const edit = chosen?.textEdit as TextEdit | undefined
    return {
      labels: items.map(item => item.label),
      text: edit === undefined ? '' : TextDocument.applyEdits(this.textOf(uri), [edit]),
    }
  }

  async hover(uri: string, at: string): Promise<string | undefined> {
    const hover = await this.#connection.sendRequest(HoverRequest.type, {
      textDocument: { uri },
      position: this.#behind(uri, at),
    })
    return (hover?.contents as MarkupContent | undefined)?.value
  }
}

interface CheckedSkill {
  readonly path: string
  readonly diagnostics: readonly { readonly code: string; readonly path?: string }[]
}

/** Findings that compare several skills. An editor checks one skill. */
const ABOUT_SETS = ['DESCRIPTION_SIMILAR', 'SKILL_SHADOWED', 'CATALOG_TOO_LARGE']

interface ActionRow {
  readonly title: string
  readonly kind: string | undefined
  readonly isPreferred: boolean | undefined
  readonly text: string
}

function startServer(
  folder: TemporaryFolder,
  args: readonly string[],
): ChildProcessByStdio<Writable, Readable, Readable> {
  return spawn(process.execPath, [BIN, 'lsp', '--stdio', ...args], {
    cwd: folder.path,
    env: { ...process.env, XDG_STATE_HOME: folder.at('state') },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

const GOOD = 'description: Creates VAT reports from invoices. Use when a quarter ends.'

function skill(body: string, fields = GOOD): string {
  return `---\nname: vat-report\n${fields}\n---\n\n${body}\n`
}

describe('stoke lsp', () => {
  let folder: TemporaryFolder
  let editor: Editor

  beforeEach(async () => {
    folder = new TemporaryFolder()
    editor = new Editor(folder)
    await editor.start()
  })

  afterEach(async () => {
    expect(await editor.end()).toBe(0)
    expect(editor.stderr).toBe('')
    folder[Symbol.dispose]()
  })

  const write = (text: string): string => folder.write('skills/vat-report/SKILL.md', text)

  test('names itself, and announces what it can do', () => {
    expect(editor.server?.serverInfo?.name).toBe('stoke')
    expect(editor.server?.capabilities).toMatchObject({ hoverProvider: true, codeActionProvider: {} })
  })

  test('reports the findings of the typed text, not of the text on the disk', async () => {
    folder.write('skills/vat-report/references/rates.md', 'Rates.\n')
    const uri = await editor.open(write(skill('Read [the rates](references/rates.md).')))
    await editor.waitFor(uri, [])
    await editor.type(uri, 'references/', 'reference/')
    const [finding] = await editor.waitFor(uri, ['LINK_DEAD'])
    expect(finding).toEqual({
      range: { start: { line: 5, character: 17 }, end: { line: 5, character: 35 } },
      severity: 2,
      source: 'stoke',
      code: 'LINK_DEAD',
      codeDescription: { href: expect.stringContaining('/docs/checks.md#link_dead') },
      message: expect.stringContaining('"reference/rates.md" does not exist'),
    })
    await editor.type(uri, 'reference/', 'references/')
    await editor.waitFor(uri, [])
  })

  test('reports errors of the frontmatter while it is typed, and clears the findings of a closed document', async () => {
    const uri = await editor.open(write(skill('Add up.')))
    await editor.waitFor(uri, [])
    await editor.type(uri, `${GOOD}\n`, '')
    const [finding] = await editor.waitFor(uri, ['DESCRIPTION_MISSING'])
    expect(finding?.severity).toBe(1)
    await editor.close(uri)
    await editor.waitFor(uri, [])
  })

  test('checks a new SKILL.md that is not on the disk yet', async () => {
    const uri = await editor.open(folder.at('skills/vat-report/SKILL.md'), '# VAT\n')
    await editor.waitFor(uri, ['FRONTMATTER_MISSING'])
  })

  test('checks open references with their typed text', async () => {
    const reference = folder.write('skills/vat-report/references/rates.md', 'See [all](all.md).\n')
    folder.write('skills/vat-report/references/all.md', 'All.\n')
    write(skill('Read [the rates](references/rates.md).'))
    const uri = await editor.open(reference)
    await editor.waitFor(uri, [])
    await editor.type(uri, 'all.md', 'every.md')
    await editor.waitFor(uri, ['REFERENCE_LINK_DEAD'])
  })

  test('follows files that other programs create in the folder', async () => {
    const uri = await editor.open(write(skill('Read [the rates](references/rates.md).')))
    await editor.waitFor(uri, ['LINK_DEAD'])
    folder.write('skills/vat-report/references/rates.md', 'Rates.\n')
    await editor.waitFor(uri, [])
  })

  test('ignores documents of another machine, and goes on', async () => {
    for (const foreign of ['file://host/share/vat/SKILL.md', 'file:///a%2Fb', 'file:///%ZZ'])
      await editor.close(await editor.open(foreign, '# VAT\n'))
    const uri = await editor.open(write('# VAT\n'))
    await editor.waitFor(uri, ['FRONTMATTER_MISSING'])
  })

  test('ignores documents that belong to no skill', async () => {
    const uri = await editor.open(folder.write('notes/README.md', 'See [x](x.md).\n'))
    expect(await editor.actions(uri, 'See')).toEqual([])
    expect((await editor.complete(uri, '](')).labels).toEqual([])
    expect(await editor.hover(uri, 'See')).toBe(undefined)
  })

  test('offers the edits of the findings in a line, and prefers automatic ones', async () => {
    folder.write('skills/vat-report/references/rates.md', 'Rates.\n')
    const text = skill('Read [the rates](References\\Rates.md).\n\nSee [again](rates.md).')
    const uri = await editor.open(write(text))
    await editor.waitFor(uri, ['LINK_CASE', 'LINK_DEAD'])
    const fixed = text.replace('References\\Rates.md', 'references/rates.md')
    expect(await editor.actions(uri, 'the rates')).toEqual([
      { title: 'write "references/rates.md"', kind: 'quickfix', isPreferred: true, text: fixed },
    ])
    expect(await editor.actions(uri, 'again')).toMatchObject([
      { isPreferred: false, text: text.replace('](rates.md)', '](references/rates.md)') },
    ])
    expect(await editor.actions(uri, '# ')).toEqual([])
  })

  test('completes fields that are missing, with what each client does', async () => {
    const uri = await editor.open(write(skill('Add up.', `${GOOD}\nuser`)))
    const { labels, text } = await editor.complete(uri, '\nuser', 'user-invocable')
    expect(labels).toContain('allowed-tools')
    expect(labels).not.toContain('description')
    expect(text).toContain('\nuser-invocable: \n---')
  })

  test('completes values and tools', async () => {
    const uri = await editor.open(
      write(skill('Add up.', `${GOOD}\nuser-invocable: \nallowed-tools: Read Web`)),
    )
    expect((await editor.complete(uri, 'user-invocable: ')).labels).toEqual(['true', 'false'])
    const tools = await editor.complete(uri, 'Read Web', 'WebFetch')
    expect(tools.text).toContain('allowed-tools: Read WebFetch\n')
  })

  test('completes the paths of the skill in links and in inline code', async () => {
    const reference = folder.write('skills/vat-report/references/rates.md', 'See [all](a and `b\n')
    folder.write('skills/vat-report/references/all.md', 'All.\n')
    folder.write('skills/vat-report/scripts/sum.sh', 'echo 1\n')
    const paths = ['references/all.md', 'references/rates.md', 'scripts/sum.sh']
    const uri = await editor.open(write(skill('Read [the rates](ref and `scr and (no')))
    const link = await editor.complete(uri, '](ref', 'references/all.md')
    expect(link.labels).toEqual(paths)
    expect(link.text).toContain('[the rates](references/all.md and')
    const code = await editor.complete(uri, '`scr', 'scripts/sum.sh')
    expect(code.text).toContain('and `scripts/sum.sh and')
    expect((await editor.complete(uri, 'Read [the')).labels).toEqual([])
    const other = await editor.open(reference)
    expect((await editor.complete(other, '](a')).labels).toEqual(['all.md', '../scripts/sum.sh'])
    expect((await editor.complete(other, '`b')).labels).toEqual(['references/all.md', 'scripts/sum.sh'])
  })

  test('describes fields and tokens', async () => {
    const body = '# VAT\n\nRead the invoices.\n\n## Sum\n\nAdd up.'
    const uri = await editor.open(write(skill(body, `${GOOD}\nuser-invocable: false`)))
    const field = await editor.hover(uri, '\nuser')
    expect(field).toContain('Read by: Claude Code, VS Code and Copilot.')
    expect(await editor.hover(uri, '\ndesc')).toMatch(/\n\n31 tokens listed\.$/)
    await editor.type(uri, 'user-invocable: false', 'disable-model-invocation: true')
    expect(await editor.hover(uri, '\nname')).toContain('Hidden from models: 0 tokens listed.')
    expect(await editor.hover(uri, 'Read the')).toBe(undefined)
  })
})

describe('stoke lsp, with its own settings', () => {
  test('checks for the profiles of --for, with the severities of skillstoke.json', async () => {
    using folder = new TemporaryFolder()
    folder.write('skillstoke.json', JSON.stringify({ checks: { BODY_EMPTY: 'off', CLIENT_SYNTAX: 'error' } }))
    const editor = new Editor(folder, ['--for', 'codex'])
    await editor.start()
    const uri = await editor.open(
      folder.write(
        'skills/vat-report/SKILL.md',
        skill('Review $ARGUMENTS.', `${GOOD}\nuser-invocable: false`),
      ),
    )
    const findings = await editor.waitFor(uri, ['CLIENT_RESTRICTION_LOST', 'CLIENT_SYNTAX'])
    expect(findings.map(({ severity }) => severity)).toEqual([2, 1])
    expect(await editor.end()).toBe(0)
  })

  test('reports what stoke check reports, for the bad example of every check', async () => {
    using folder = new TemporaryFolder()
    const examples = Object.entries(CHECKS).flatMap(([code, { bad }]) => (bad ? [{ code, bad }] : []))
    for (const { code, bad } of examples)
      for (const [path, text] of Object.entries(bad.files)) folder.write(join(code, 'vat-report', path), text)
    const { json } = stoke<readonly CheckedSkill[]>(['check', folder.path, '--json'], { cwd: folder.path })
    expect(json.length).toBeGreaterThan(35)
    const editor = new Editor(folder)
    await editor.start()
    for (const { path, diagnostics } of json) {
      const file = join(path, 'SKILL.md')
      const own = diagnostics.filter(each => each.path === file && !ABOUT_SETS.includes(each.code))
      const uri = await editor.open(file)
      await editor.waitFor(
        uri,
        own.map(({ code }) => code),
      )
      await editor.close(uri)
    }
    expect(await editor.end()).toBe(0)
  })

  test('ends when the editor closes the pipe', async () => {
    using folder = new TemporaryFolder()
    const editor = new Editor(folder)
    await editor.start()
    expect(await editor.crash()).toBe(1)
  })
})
