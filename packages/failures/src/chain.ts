import { PLACES } from './catalogue.ts';
import { isFatal } from './endings.ts';
import type { Finding } from './finding.ts';
import type { KubeadmRun } from './kubeadm-run.ts';
import type { ObservedLine } from './observed-line.ts';

const COMPONENT = /\b(etcd|kube-(?:apiserver|controller-manager|scheduler))\b/;

/** Where in the chain a finding is: that of the component of the control plane that it is about, else that of its entry. */
export function placeOf({ entry, line }: Pick<Finding, 'entry' | 'line'>): number {
  const component = componentOf(line);
  if (component === undefined || !COMPONENT_PLACES.has(entry.place)) return PLACES.indexOf(entry.place);
  return PLACES.indexOf(component);
}

/** What the machine lacks is at an earlier place, whichever component says so. */
const COMPONENT_PLACES: ReadonlySet<string> = new Set(['services', 'kubelet', 'etcd', 'apiServer', 'components']);

function componentOf({ source, origin, text }: ObservedLine): 'etcd' | 'apiServer' | 'components' | undefined {
  if (source === 'end' || source === 'unit') return named(/^[\w-]+/.exec(text)?.[0]);
  return source === 'container' ? named(COMPONENT.exec(origin)?.[1] ?? 'container') : undefined;
}

function named(name: string | undefined): 'etcd' | 'apiServer' | 'components' | undefined {
  // A log that does not say whose it is may be that of etcd.
  if (name === 'etcd' || name === 'container') return 'etcd';
  if (name === 'kube-apiserver') return 'apiServer';
  return name?.startsWith('kube-') === true ? 'components' : undefined;
}

/** The finding that explains the others: the earliest of the chain, where symptoms are none. */
export function bestOf(findings: readonly Finding[], run: KubeadmRun): Finding | undefined {
  const strong = findings.filter((finding) => names(finding, run));
  const state = first(strong.filter(({ entry }) => entry.circumstantial === true));
  const end = first(
    strong.filter((finding) => finding.entry.circumstantial !== true && (isCause(finding) || isEnd(finding))),
  );
  const direct = first(strong.filter((finding) => isCause(finding) && isLastError(finding)));
  const ended = new Set(strong.filter(isEnd).map(({ line }) => componentOf(line)));
  if (end !== undefined && isCause(end)) return isSaid(end, ended) && direct !== undefined ? direct : end;
  // What ended does not say why: a state of the machine that precedes it may.
  if (end !== undefined) return state !== undefined && placeOf(state) <= placeOf(end) ? state : end;
  return state ?? first(strong.filter(({ entry }) => entry.kind === 'generic')) ?? inOrder(strong)[0];
}

/** Causes before areas before symptoms, each in the order of the chain, hints last. */
export function inOrder(findings: readonly Finding[]): readonly Finding[] {
  return [...findings].sort((a, b) => rank(a) - rank(b) || byPlace(a, b));
}

function rank({ entry, weakness }: Finding): number {
  return (weakness === undefined ? 0 : 4) + ['cause', 'generic', 'symptom', 'warning'].indexOf(entry.kind);
}

function first(findings: readonly Finding[]): Finding | undefined {
  return [...findings].sort(byPlace)[0];
}

function byPlace(a: Finding, b: Finding): number {
  if (a.entry.kind === 'symptom' && b.entry.kind === 'symptom') return b.score - a.score;
  return placeOf(a) - placeOf(b) || Number(isCause(b)) - Number(isCause(a)) || b.score - a.score;
}

function isCause({ entry }: Finding): boolean {
  return entry.kind === 'cause';
}

/** A process that ended, by its last error or by what the service manager knows of it. */
function isEnd({ entry, line }: Finding): boolean {
  return entry.kind === 'generic' && (line.source === 'end' || line.source === 'unit');
}

/** kubeadm's own error, in which it names what it was refused. */
function isLastError({ line }: Finding): boolean {
  return line.source === 'kubeadm' && /^(?:error: |error execution phase |\[ERROR )/.test(line.text);
}

/** An error that a kubelet or a component logs while it runs on: one that ended said why, whatever its level. */
function isSaid({ line }: Finding, ended: ReadonlySet<ReturnType<typeof componentOf>>): boolean {
  if (line.source === 'container') return !isFatal(line.text) && !ended.has(componentOf(line));
  return line.source === 'kubelet' && !isFatal(line.text);
}

/** A retry names the cause only where kubeadm was ended while it still tried: there are no last words then. */
function names({ weakness }: Finding, run: KubeadmRun): boolean {
  return weakness === undefined || (weakness === 'retried' && run.ending !== 'failed');
}
