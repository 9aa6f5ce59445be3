import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, foldGutter, foldKeymap, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { EditorState, type Extension, RangeSetBuilder, StateEffect, StateField } from '@codemirror/state';
import { Decoration, type DecorationSet, EditorView, keymap, lineNumbers, WidgetType } from '@codemirror/view';
import { classHighlighter } from '@lezer/highlight';
import type { Finding, Severity } from './engine.ts';

/** The editor of the playground: YAML, with the findings at their lines. */
export interface Editor {
  /** Replaces the text. Does not call `onEdit`. */
  setText(text: string): void;
  /** Replaces the findings: underlined, in the gutter, and written below their lines. */
  setFindings(findings: readonly Finding[]): void;
  goTo(line: number): void;
  destroy(): void;
}

export interface EditorOptions {
  readonly parent: HTMLElement;
  /** For screen readers. */
  readonly label: string;
  /** Called with the whole text after each change of the user. Without it the text cannot be changed. */
  readonly onEdit?: (text: string) => void;
}

/** The levels of the lint package for ours. */
const LEVELS: Readonly<Record<Severity, Diagnostic['severity']>> = {
  error: 'error',
  decision: 'warning',
  warning: 'warning',
  note: 'info',
};

/** Findings of a line that are always shown; the others are folded. */
const SHOWN = 3;

/** What is below a line: its findings, each in a line of its own. */
class FindingsWidget extends WidgetType {
  readonly #findings: readonly Finding[];

  constructor(findings: readonly Finding[]) {
    super();
    this.#findings = findings;
  }

  override eq(other: FindingsWidget): boolean {
    return JSON.stringify(other.#findings) === JSON.stringify(this.#findings);
  }

  override toDOM(view: EditorView): HTMLElement {
    const element = document.createElement('div');
    element.className = 'findings-of-line';
    const shown = this.#findings.length > SHOWN + 1 ? SHOWN : this.#findings.length;
    element.append(...this.#findings.slice(0, shown).map(elementOf));
    if (shown < this.#findings.length) {
      const more = element.appendChild(document.createElement('details'));
      more.appendChild(document.createElement('summary')).textContent = `${this.#findings.length - shown} more`;
      more.append(...this.#findings.slice(shown).map(elementOf));
      more.addEventListener('toggle', () => view.requestMeasure());
    }
    return element;
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

function elementOf({ severity, code, message, hint }: Finding): HTMLElement {
  const element = document.createElement('div');
  element.className = `finding finding-${severity}`;
  element.appendChild(document.createElement('strong')).textContent = `${severity} ${code}`;
  element.append(` ${message}${hint === undefined ? '' : ` (${hint})`}`);
  return element;
}

const showFindings = StateEffect.define<readonly Finding[]>();

const findingsField = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(shown, transaction) {
    let next = shown.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (effect.is(showFindings)) next = decorationsOf(transaction.state, effect.value);
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function decorationsOf(state: EditorState, findings: readonly Finding[]): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  const byLine = Map.groupBy(findings, ({ line }) => Math.min(line, state.doc.lines));
  for (const [line, ofLine] of [...byLine].sort(([a], [b]) => a - b)) {
    const widget = new FindingsWidget(ofLine);
    const { to } = state.doc.line(line);
    builder.add(to, to, Decoration.widget({ widget, block: true, side: 1 }));
  }
  return builder.finish();
}

function diagnosticOf(state: EditorState, { line, column, severity, code, message }: Finding): Diagnostic {
  const { from: start, to } = state.doc.line(Math.min(line, state.doc.lines));
  return { from: Math.min(start + column - 1, to), to, severity: LEVELS[severity], source: code, message };
}

/** Opens an editor in an element of the page. */
export function openEditor({ parent, label, onEdit }: EditorOptions): Editor {
  let isOurs = false;
  const extensions: Extension[] = [
    lineNumbers(),
    foldGutter(),
    history(),
    indentOnInput(),
    bracketMatching(),
    yaml(),
    syntaxHighlighting(classHighlighter),
    lintGutter(),
    findingsField,
    keymap.of([...defaultKeymap, ...historyKeymap, ...foldKeymap, ...lintKeymap]),
    EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
    EditorState.readOnly.of(onEdit === undefined),
    EditorView.updateListener.of(({ docChanged, state }) => {
      if (docChanged && !isOurs) onEdit?.(state.doc.toString());
    }),
  ];
  const view = new EditorView({ parent, extensions });
  return {
    setText(text) {
      isOurs = true;
      view.dispatch({
        changes: { from: 0, to: view.state.doc.length, insert: text },
        effects: showFindings.of([]),
        selection: { anchor: 0 },
      });
      isOurs = false;
    },
    setFindings(findings) {
      const diagnostics = findings.map((finding) => diagnosticOf(view.state, finding));
      view.dispatch(setDiagnostics(view.state, diagnostics), { effects: showFindings.of(findings) });
    },
    goTo(line) {
      const { from } = view.state.doc.line(Math.min(line, view.state.doc.lines));
      view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: 'center' }) });
      view.focus();
    },
    destroy: () => view.destroy(),
  };
}
