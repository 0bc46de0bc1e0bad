import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { EditorState, StateEffect, StateField } from '@codemirror/state'
import {
  Decoration,
  type DecorationSet,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  WidgetType,
} from '@codemirror/view'
import type { Finding } from 'skillstoke/client'

export interface TextEditor {
  /** Shows findings at their lines. */
  readonly show: (findings: readonly Finding[]) => void
  readonly close: () => void
}

interface TextEditorOptions {
  readonly text: string
  /** Name for screen readers. */
  readonly label: string
  readonly onType: (text: string) => void
  readonly onSave: () => void
  readonly applyFix: (text: string, finding: Finding) => string
}

const setFindings = StateEffect.define<readonly Finding[]>()

/** A finding below its line, with a button that applies its edit to the text in the editor. */
class FindingWidget extends WidgetType {
  readonly finding: Finding
  readonly applyFix: TextEditorOptions['applyFix']

  constructor(finding: Finding, applyFix: TextEditorOptions['applyFix']) {
    super()
    this.finding = finding
    this.applyFix = applyFix
  }

  override eq({ finding }: FindingWidget): boolean {
    return finding.message === this.finding.message && finding.severity === this.finding.severity
  }

  override toDOM(view: EditorView): HTMLElement {
    const { severity, message, edit } = this.finding
    const box = document.createElement('div')
    box.className = `finding f-${severity}`
    const text = document.createElement('p')
    text.textContent = `${message}.`
    box.append(text)
    if (edit === undefined) return box
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'btn sm'
    button.textContent = 'Fix'
    button.title = edit.title
    button.addEventListener('click', () => {
      const insert = this.applyFix(view.state.doc.toString(), this.finding)
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert } })
    })
    box.append(button)
    return box
  }
}

/** Opens an editor in an element. It has its own shadow root, because the policy of the page forbids style elements. */
export function openTextEditor(place: HTMLElement, options: TextEditorOptions): TextEditor {
  const { text, label, onType, onSave, applyFix } = options
  const findings = StateField.define<DecorationSet>({
    create: () => Decoration.none,
    update: (shown, { effects, changes, state }) => {
      const found = effects.find(each => each.is(setFindings))
      if (found === undefined) return shown.map(changes)
      return decorate(found.value, state, applyFix)
    },
    provide: field => EditorView.decorations.from(field),
  })
  const save = (): boolean => {
    onSave()
    return true
  }
  const root = place.shadowRoot ?? place.attachShadow({ mode: 'open' })
  root.replaceChildren()
  root.adoptedStyleSheets = copyStyles()
  const view = new EditorView({
    parent: root as unknown as Element,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        highlightActiveLine(),
        highlightSpecialChars(),
        findings,
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': label }),
        keymap.of([
          { key: 'Mod-s', preventDefault: true, run: save },
          ...defaultKeymap,
          ...historyKeymap,
          indentWithTab,
        ]),
        EditorView.updateListener.of(update => {
          if (update.docChanged) onType(update.state.doc.toString())
        }),
      ],
    }),
  })
  view.focus()
  return {
    show: found => view.dispatch({ effects: setFindings.of(found) }),
    close: () => view.destroy(),
  }
}

function decorate(
  found: readonly Finding[],
  { doc }: EditorState,
  applyFix: TextEditorOptions['applyFix'],
): DecorationSet {
  const ranges = found.flatMap(finding => {
    const line = doc.line(Math.min(Math.max(finding.line ?? 1, 1), doc.lines))
    const look = finding.severity === 'error' ? 'bad' : 'hint'
    return [
      Decoration.line({ class: `ln-${look}` }).range(line.from),
      Decoration.widget({ widget: new FindingWidget(finding, applyFix), block: true, side: 1 }).range(
        line.to,
      ),
    ]
  })
  return Decoration.set(ranges, true)
}

/** Copies the rules of the page, because they do not reach into a shadow root. */
function copyStyles(): CSSStyleSheet[] {
  return [...document.styleSheets].map(sheet => {
    const copy = new CSSStyleSheet()
    copy.replaceSync([...sheet.cssRules].map(({ cssText }) => cssText).join('\n'))
    return copy
  })
}
