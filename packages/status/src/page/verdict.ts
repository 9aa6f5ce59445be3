import { formatPlace } from '@machineadm/document/diagnostics/index.ts';
import { REASONS } from '@machineadm/document/outcomes/reasons.ts';
import { formatDuration } from '@machineadm/document/text/units.ts';
import { formatCauses, nextCommand } from '../progress.ts';
import type { RunStatus } from '../status.ts';
import type { Reported } from '../summary.ts';
import type { PageVerdict } from './content.ts';
import { type Html, html } from './html.ts';

interface Headline {
  readonly title: string;
  readonly body: Html;
}

const OUTCOMES = {
  Succeeded: { word: 'succeeded', tone: 'good' },
  Failed: { word: 'failed', tone: 'bad' },
  Interrupted: { word: 'was interrupted', tone: 'bad' },
  RebootRequired: { word: 'needs a reboot', tone: 'warn' },
} as const;

/** The head of the page: the machine, the result of its run, the reason, and what to do. */
export function headline(
  status: Reported | undefined,
  verdict: PageVerdict | undefined,
  titleOf: (step: string) => string,
  hostname: string | undefined,
): Headline {
  const run = status?.kind === 'BootstrapStatus' ? status : undefined;
  const name = run?.machine.name ?? hostname ?? 'this machine';
  const { text, tone } = state(status);
  const title = `${name}: ${text}`;
  const finding = run?.failure ?? (verdict?.outcome === 'failure' ? verdict : undefined);
  const isSince = status?.outcome === 'Succeeded' && run?.failure === undefined && finding !== undefined;
  return {
    title,
    body: html`<h1>${title}</h1>${status === undefined ? undefined : context(status)}
<div class="verdict ${isSince ? 'bad' : tone}">${isSince ? html`<p>The run succeeded, but the node does not work now.</p>` : undefined}${
      finding !== undefined ? problem(finding, run, titleOf) : summaryOf(status, titleOf)
    }</div>`,
  };
}

function state(status: Reported | undefined): { readonly text: string; readonly tone: string } {
  if (status === undefined) return { text: 'machineadm never ran here', tone: 'warn' };
  const { command, outcome, exitCode } = status;
  if (outcome === undefined) return { text: `${command} is running`, tone: 'warn' };
  const { word, tone } = OUTCOMES[outcome];
  // A hook after the bootstrap may have failed.
  const isWhole = outcome !== 'Succeeded' || (exitCode ?? 0) === 0;
  return isWhole
    ? { text: `${command} ${word}`, tone }
    : { text: `${command} ${word}, exit code ${exitCode}`, tone: 'warn' };
}

function context(status: Reported): Html {
  const run = status.kind === 'BootstrapStatus' ? status : undefined;
  const took = Date.parse(status.updatedAt) - Date.parse(status.startedAt);
  const parts = [
    run?.machine.namespace === undefined ? '' : `namespace ${run.machine.namespace}`,
    run?.machine.cluster === undefined ? '' : `cluster ${run.machine.cluster}`,
    `started ${status.startedAt}`,
    Number.isFinite(took) ? `last change after ${formatDuration(Math.max(0, took))}` : '',
    run === undefined ? '' : `attempt ${run.attempt}`,
    `run ${status.runId}`,
    run === undefined ? '' : `machineadm ${run.agent.version}`,
  ];
  return html`<p class="quiet">${parts.filter((part) => part !== '').join(' · ')}</p>`;
}

/** The reason once, its meaning here, its cause, what to do. */
function problem(
  finding: {
    readonly reason: string;
    readonly summary: string;
    readonly remedy: string;
    readonly causes?: readonly string[];
  },
  run: RunStatus | undefined,
  titleOf: (step: string) => string,
): Html {
  const { step, field, position } = run?.failure ?? {};
  const source =
    field === undefined || position === undefined
      ? undefined
      : html`<p>In the document: <code>${formatPlace(position)}</code>, ${field}</p>`;
  const next =
    run?.failure === undefined
      ? undefined
      : html`<p><strong>Try next:</strong> <code>${nextCommand(run.failure, run.document.sources, run.command)}</code></p>`;
  const place = step === undefined ? undefined : html` in the step ${titleOf(step)}`;
  return html`<p><strong class="bad">${finding.reason}</strong>${place}: ${finding.summary}</p>${source}${formatCauses(
    finding,
  ).map((line) => html`<p>${capital(line)}</p>`)}<p><strong>What to do:</strong> ${finding.remedy}</p>${next}`;
}

/** Without a failure: what the run does now, or did. */
function summaryOf(status: Reported | undefined, titleOf: (step: string) => string): Html {
  if (status === undefined)
    return html`<p>No run is known on this machine. Start one with <code>machineadm provision</code>.</p>`;
  if (status.kind === 'BootstrapSummary') {
    const meaning = status.reason === undefined ? undefined : REASONS[status.reason]?.meaning;
    const reason = status.reason === undefined ? undefined : html`<p><strong>${status.reason}</strong>: ${meaning}</p>`;
    return html`${reason}<p>This is the public summary of the run. Its details need root or the group machineadm.</p>`;
  }
  if (status.outcome === undefined) return running(status, titleOf);
  const changes = status.steps.reduce((sum, step) => sum + step.changes.length, 0);
  return html`<p>${status.steps.length} steps, ${changes} changes, ${status.warnings.length} warnings.</p>`;
}

function running(status: RunStatus, titleOf: (step: string) => string): Html {
  const what = status.step === undefined ? status.phase.toLowerCase() : titleOf(status.step);
  return html`<p>Now: ${what}${status.waitingFor === undefined ? '' : `, waiting for ${status.waitingFor}`}.</p>`;
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
