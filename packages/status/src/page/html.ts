import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { printable } from '@machineadm/document/text/printable.ts';

/** A piece of HTML with escaped text. Only `html` creates it. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The values of a template: text is escaped, pieces of HTML are inserted unchanged, undefined is empty. */
export type HtmlValue = string | number | Html | readonly HtmlValue[] | undefined;

/** Redacted and escaped by construction: html`<p>${text}</p>`. Attributes use double quotes. */
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
 * Removes secrets, then escape sequences and direction marks as for a terminal, because they would change the displayed
 * text. Removing those may reveal a secret, so the redactor runs twice.
 */
function escaped(text: string): string {
  const clean = redact(printable(redact(text)).toWellFormed());
  return clean.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}
