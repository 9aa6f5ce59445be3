import { createHash } from 'node:crypto';
import { formatDuration } from '@machineadm/document/text/units.ts';
import type { RunStatus } from '../status.ts';
import { chart } from './chart.ts';
import type { PageCheck, PageContent, PageEvidence, PageFacts, PagePlannedChange, PageVerdict } from './content.ts';
import { Html, html } from './html.ts';
import { STYLE } from './style.ts';
import { headline } from './verdict.ts';

export type { PageContent } from './content.ts';

/** Loads and runs nothing, and only this style sheet applies: quoted text cannot become more than text. */
const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'`;

/**
 * The page of a run in one file: the verdict, the timeline, the steps and their changes, the evidence, the machine. It
 * needs no network and no script, so it can be attached to a ticket or a mail. All content is redacted, then escaped.
 */
export function page(content: PageContent): string {
  const { status, facts, verdict, titleOf, madeAt } = content;
  const run = status?.kind === 'BootstrapStatus' ? status : undefined;
  const { title, body } = headline(status, verdict, titleOf, facts?.hostname);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Html(POLICY)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<header>${body}</header>
<main>
${section('Evidence', evidence(run, verdict))}
${run === undefined || run.timeline.length === 0 ? undefined : section('Timeline', chart(run, titleOf))}
${run === undefined ? undefined : section('Steps and changes', steps(run, titleOf))}
${run === undefined ? undefined : section('Warnings', warnings(run))}
${section('Checks of the machine', checks(content.checks))}
${section('What another run would change', plan(content.plan, titleOf))}
${run === undefined ? undefined : section('Conditions and reports', conditions(run))}
${section('Machine', machine(run?.host, facts))}
${section('Files of this bundle', files(content.files))}
</main>
<footer><p>Made by machineadm ${content.agentVersion}${madeAt === undefined ? '' : ` at ${madeAt.toISOString()}`}. Known secrets and what looks like one are removed; read the page before you pass it on.</p></footer>
</body>
</html>
`.text;
}

function section(title: string, body: Html | undefined): Html | undefined {
  return body === undefined ? undefined : html`<section><h2>${title}</h2>${body}</section>`;
}

function machine(host: RunStatus['host'] | undefined, facts: PageFacts | undefined): Html | undefined {
  const { hostname, machineId, bootId } = facts ?? host ?? {};
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['Host name', hostname],
    ['Operating system', facts && `${facts.os.id} ${facts.os.version}`],
    ['Kernel', facts && `${facts.kernel} (${facts.architecture})`],
    ['Service manager', facts?.serviceManager],
    ['containerd', facts && (facts.containerd?.text ?? 'not found')],
    ['kubeadm', facts && (facts.kubeadm?.text ?? 'not found')],
    ['kubelet', facts && (facts.kubelet?.text ?? 'not found')],
    ['Node addresses', host?.nodeAddresses?.join(', ')],
    ['Addresses', facts?.nodeAddresses.join(', ')],
    ['Cloud instance', facts?.cloudInstanceId],
    ['Machine id', machineId],
    ['Boot id', bootId],
  ];
  const known = rows.filter(([, value]) => value !== undefined && value !== '');
  if (known.length === 0) return undefined;
  return html`<dl>${known.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

function files(paths: readonly string[] | undefined): Html | undefined {
  if (paths === undefined || paths.length === 0) return undefined;
  return html`<ul>${[...paths].sort().map((path) => html`<li><code>${path}</code></li>`)}</ul>`;
}

type TitleOf = (step: string) => string;

/** The lines that prove the failure, each with its source; the lines of failed attempts are in the status. */
function evidence(run: RunStatus | undefined, verdict: PageVerdict | undefined): Html | undefined {
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

function steps({ steps: all, failedAttempts = [] }: RunStatus, titleOf: TitleOf): Html | undefined {
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

function warnings({ warnings: all }: RunStatus): Html | undefined {
  if (all.length === 0) return undefined;
  return html`<ul>${all.map((text) => html`<li>${text}</li>`)}</ul>`;
}

/** Problems first; passed checks are only counted. */
function checks(all: readonly PageCheck[] | undefined): Html | undefined {
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

function plan(all: readonly PagePlannedChange[] | undefined, titleOf: TitleOf): Html | undefined {
  if (all === undefined) return undefined;
  if (all.length === 0) return html`<p>Nothing: the machine is as the document asks.</p>`;
  return html`<ul>${all.map(({ step, summary }) => html`<li>${titleOf(step)}: ${summary}</li>`)}</ul>`;
}

function conditions({ conditions: all, reports = [] }: RunStatus): Html | undefined {
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
