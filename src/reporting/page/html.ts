import { printable } from '@machineadm/document/printable.ts';
import { redact } from '@machineadm/document/redaction.ts';

/** A piece of HTML whose text is escaped already. Made by `html` alone. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What a template takes: text is escaped, pieces of HTML are put in as they are, nothing stays nothing. */
export type HtmlValue = string | number | Html | readonly HtmlValue[] | undefined;

/** Redacted and escaped by construction: html`<p>${text}</p>`. Attributes are written with double quotes. */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  const text = parts.reduce((before, part, index) => `${before}${fill(values[index - 1])}${part}`);
  return new Html(text);
}

function fill(value: HtmlValue): string {
  if (value === undefined) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'string' || typeof value === 'number') return escaped(String(value));
  return value.map(fill).join('');
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Secrets are removed, and escape sequences and marks of direction as for a terminal: they would show other text than it is.
 * Without them a text may be a secret that it was not before, so the redactor reads it twice.
 */
function escaped(text: string): string {
  const clean = redact(printable(redact(text)).toWellFormed());
  return clean.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}
