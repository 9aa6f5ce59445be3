import { createHash } from 'node:crypto';
import type { RunStatus } from '../status.ts';
import { chart } from './chart.ts';
import type { PageContent, PageFacts } from './content.ts';
import { Html, html } from './html.ts';
import { checks, conditions, evidence, plan, steps, warnings } from './sections.ts';
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
