import { formatDuration } from '@machineadm/document/text/units.ts';
import type { RunStatus } from '../status.ts';
import type { PageCheck, PageEvidence, PagePlannedChange, PageVerdict } from './content.ts';
import { type Html, html } from './html.ts';

type TitleOf = (step: string) => string;

/** The lines that prove the failure, each with its source; the lines of failed attempts are in the status. */
export function evidence(run: RunStatus | undefined, verdict: PageVerdict | undefined): Html | undefined {
  const all: readonly PageEvidence[] = [...(verdict?.evidence ?? []), ...(run?.failure?.evidence ?? [])];
  const lines = all.filter(({ text }, index) => all.findIndex((other) => other.text === text) === index);
  if (lines.length === 0) return undefined;
  return html`${lines.map(
    ({ source, line = 0, text }) =>
      html`<figure><figcaption>${line > 0 ? `${source}, line ${line}` : source}</figcaption><pre>${text}</pre></figure>`,
  )}`;
}

/** By the state of a step or of a check; all others are muted. */
const TONES: ReadonlyMap<string, string> = new Map([
  ['Succeeded', 'good'],
  ['Failed', 'bad'],
  ['Running', 'warn'],
  ['failed', 'bad'],
  ['warning', 'warn'],
]);

export function steps({ steps: all, failedAttempts = [] }: RunStatus, titleOf: TitleOf): Html | undefined {
  if (all.length === 0) return undefined;
  const attempts = failedAttempts.map(
    ({ attempt, reason, summary, durationMs }) =>
      html`<li>Attempt ${attempt} failed after ${formatDuration(durationMs)}: <strong>${reason}</strong>: ${summary}</li>`,
  );
  return html`${attempts.length === 0 ? undefined : html`<ul>${attempts}</ul>`}<ul class="steps">${all.map(
    ({ id, state, durationMs, changes }) =>
      html`<li><div class="row"><span>${titleOf(id)}</span><span><span class="state ${TONES.get(state) ?? 'quiet'}">${state}</span>${
        durationMs === undefined || state === 'Skipped' ? '' : ` in ${formatDuration(durationMs)}`
      }</span></div>${changesOf(changes)}</li>
`,
  )}</ul>`;
}

function changesOf(changes: readonly string[]): Html | undefined {
  if (changes.length === 0) return undefined;
  const items = changes.map((change) => html`<li><code>${change}</code></li>`);
  return html`<details><summary>${changes.length} ${changes.length === 1 ? 'change' : 'changes'}</summary><ul>${items}</ul></details>`;
}

export function warnings({ warnings: all }: RunStatus): Html | undefined {
  if (all.length === 0) return undefined;
  return html`<ul>${all.map((text) => html`<li>${text}</li>`)}</ul>`;
}

/** Problems first; passed checks are only counted. */
export function checks(all: readonly PageCheck[] | undefined): Html | undefined {
  if (all === undefined || all.length === 0) return undefined;
  const order = ['failed', 'warning', 'skipped'];
  const shown = all
    .filter(({ state }) => state !== 'ok')
    .sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state))
    .map(
      ({ state, text, remedy }) =>
        html`<li><span class="state ${TONES.get(state) ?? 'quiet'}">${state}</span> ${text}${remedy === undefined ? undefined : html`<br><span class="quiet">${remedy}</span>`}</li>`,
    );
  const fine = all.length - shown.length;
  return html`${shown.length === 0 ? undefined : html`<ul>${shown}</ul>`}<p class="quiet">${fine} ${fine === 1 ? 'check' : 'checks'} passed.</p>`;
}

export function plan(all: readonly PagePlannedChange[] | undefined, titleOf: TitleOf): Html | undefined {
  if (all === undefined) return undefined;
  if (all.length === 0) return html`<p>Nothing: the machine is as the document asks.</p>`;
  return html`<ul>${all.map(({ step, summary }) => html`<li>${titleOf(step)}: ${summary}</li>`)}</ul>`;
}

export function conditions({ conditions: all, reports = [] }: RunStatus): Html | undefined {
  const rows = [
    ...all.map(
      ({ type, status, reason, message, lastTransitionTime }) =>
        html`<dt><code>${type}</code></dt><dd><strong>${status}</strong> (${reason}) since ${lastTransitionTime}<br>${message}</dd>`,
    ),
    ...reports.map(
      ({ sink, target, state, pending, message }) =>
        html`<dt>Report to ${sink}</dt><dd><strong>${state}</strong>${pending === 0 ? '' : `, ${pending} pending`}: ${target}${message === undefined ? undefined : html`<br>${message}`}</dd>`,
    ),
  ];
  return rows.length === 0 ? undefined : html`<dl>${rows}</dl>`;
}
