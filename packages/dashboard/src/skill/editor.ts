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
import { applyFix } from './fixes.ts'

export interface TextEditor {
  /** Shows findings at their lines. Their edits belong to a text. */
  readonly show: (findings: readonly Finding[], text: string) => void
  readonly close: () => void
}

interface TextEditorOptions {
  readonly text: string
  /** Name for screen readers. */
  readonly label: string
  readonly onType: (text: string) => void
  readonly onSave: () => void
  readonly renderFinding: (place: HTMLElement, finding: Finding, onFix: () => void) => void
}

/** Findings, and the text to which their edits belong. */
interface Checked {
  readonly findings: readonly Finding[]
  readonly text: string
}

const setChecked = StateEffect.define<Checked>()

/** An element below a line. */
class LineWidget extends WidgetType {
  override readonly toDOM: (view: EditorView) => HTMLElement

  constructor(toDOM: (view: EditorView) => HTMLElement) {
    super()
    this.toDOM = toDOM
  }
}

/** Opens an editor in an element. It has its own shadow root, because the policy of the page forbids style elements. */
export function openTextEditor(place: HTMLElement, options: TextEditorOptions): TextEditor {
  const { text, label, onType, onSave } = options
  const findings = StateField.define<DecorationSet>({
    create: () => Decoration.none,
    update: (shown, { effects, changes, state }) => {
      const found = effects.find(each => each.is(setChecked))
      if (found === undefined) return shown.map(changes)
      return decorate(found.value, state, options)
    },
    provide: field => EditorView.decorations.from(field),
  })
  const save = (): boolean => {
    onSave()
    return true
  }
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n'
  const root = place.shadowRoot ?? place.attachShadow({ mode: 'open' })
  root.replaceChildren()
  root.adoptedStyleSheets = copyStyles()
  const view = new EditorView({
    parent: root as unknown as Element,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        EditorState.lineSeparator.of(lineEnd),
        EditorView.clipboardInputFilter.of(pasted => pasted.replace(/\r\n?|\n/g, lineEnd)),
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
          if (update.docChanged) onType(update.state.sliceDoc())
        }),
      ],
    }),
  })
  view.focus()
  return {
    show: (findings, checked) => view.dispatch({ effects: setChecked.of({ findings, text: checked }) }),
    close: () => view.destroy(),
  }
}

/** Places each finding below its line, with a button that applies its edit to the text in the editor. */
function decorate(
  { findings, text }: Checked,
  { doc }: EditorState,
  { renderFinding }: TextEditorOptions,
): DecorationSet {
  const ranges = findings.flatMap(finding => {
    const { from, to } = doc.line(Math.min(Math.max(finding.line ?? 1, 1), doc.lines))
    const look = finding.severity === 'error' ? 'bad' : 'hint'
    const widget = new LineWidget(view => {
      const place = document.createElement('div')
      place.className = 'finding-place'
      renderFinding(place, finding, () => {
        // After a keystroke, the edit belongs elsewhere. The next check brings a new one.
        if (view.state.sliceDoc() !== text) return
        view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: applyFix(text, finding) } })
        view.focus()
      })
      return place
    })
    return [
      Decoration.line({ class: `ln-${look}` }).range(from),
      Decoration.widget({ widget, block: true, side: 1 }).range(to),
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
