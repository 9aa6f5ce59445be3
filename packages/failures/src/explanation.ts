import { REASONS } from '@machineadm/document/outcomes/reasons.ts';
import { sentence } from '@machineadm/document/text/sentence.ts';
import type { Cleanup, LineSource } from './catalogue.ts';
import { evidenceOf } from './evidence.ts';
import type { Finding } from './finding.ts';
import type { KubeadmRun } from './kubeadm-run.ts';
import { cleanLine, type ObservedLine } from './observed-line.ts';
import { forWindows, isOfWindows } from './windows.ts';

const LONGEST = 300;

/** A text of an entry with the groups of its pattern: `$1 exits` becomes `kubelet exits`. */
export function filledIn(text: string, { entry, line }: Finding): string {
  if (!text.includes('$')) return text;
  const groups = entry.pattern.exec(cleanLine(line.text)) ?? [];
  return text.replace(/\$(\d)/g, (_, number: string) => shortened(unquoted(groups[Number(number)] ?? '')));
}

/** klog quotes an error as Go does (strconv.Quote): `err="Node \"a\" is invalid"`. */
function unquoted(text: string): string {
  return text.replace(/\\(["\\])/g, '$1');
}

/**
 * What the reason means, or what the entry says with the names from the line; and our own finding, which says what it is
 * about: which unit, which container, which file.
 */
export function summaryOf(finding: Finding): readonly string[] {
  const { entry, line } = finding;
  if (entry.says !== undefined) return [sentence(filledIn(entry.says, finding))];
  const { meaning } = REASONS[entry.reason];
  const isOwn = line.source === 'unit' || line.source === 'check';
  return isOwn ? [meaning, sentence(evidenceOf(line).text)] : [meaning];
}

/** Logs that a remedy may send the reader to, each with the command that shows it. */
const LOGS: readonly (readonly [LineSource, RegExp, string])[] = [
  ['kubelet', /`journalctl -u kubelet`/, 'the kubelet'],
  ['containerd', /`journalctl -u containerd`/, 'containerd'],
  ['container', /`crictl logs`/, 'the component'],
];

/** What to do. Nobody is sent to a log that was read: its last errors are in the evidence. */
export function remedyOf(finding: Finding, lines: readonly ObservedLine[]): string {
  const remedy = remedyIn(finding, lines);
  return isOfWindows(lines) ? forWindows(remedy) : remedy;
}

function remedyIn(finding: Finding, lines: readonly ObservedLine[]): string {
  const remedy = filledIn(finding.entry.remedy, finding);
  const read = LOGS.find(([source, command]) => command.test(remedy) && lines.some((line) => line.source === source));
  if (read === undefined) return remedy;
  return `The log of ${read[2]} was read: correct what its last error in the evidence names, then provision again.`;
}

/** What to do where no entry describes the failure: the logs that were not read come first. */
export function remedyOfUnknown(lines: readonly ObservedLine[]): string {
  const missing = [
    ...(lines.some(({ source }) => source === 'kubelet') ? [] : ['`journalctl -u kubelet`']),
    ...(lines.some(({ source }) => source === 'containerd') ? [] : ['`journalctl -u containerd`']),
  ];
  const first = 'No entry of the catalogue describes this failure. Correct what the evidence names.';
  const more =
    missing.length === 0
      ? ''
      : ` The output of ${missing.join(' and of ')} was not read: pass it, too (\`machineadm diagnose FILE…\`).`;
  const remedy = `${first}${more} \`machineadm bundle\` gathers what a bug report needs.`;
  return isOfWindows(lines) ? forWindows(remedy) : remedy;
}

/**
 * A cleanup that the entry asks for, or a stronger one where kubeadm had already written more. A kubeadm that refused its
 * configuration, or that its checks stopped, has changed nothing: whatever is there belongs to somebody.
 */
export function cleanupFor(run: KubeadmRun, asked: Cleanup): Cleanup {
  if (run.ending === 'failed' && run.traces === 'none' && UNCHANGED.has(run.phase)) return 'none';
  const left: Cleanup = run.traces === 'member' ? 'reset+member' : run.traces === 'node' ? 'reset' : 'none';
  const order: readonly Cleanup[] = ['none', 'reset', 'reset+member'];
  return order.indexOf(left) > order.indexOf(asked) ? left : asked;
}

/** Phases before kubeadm writes its first file. */
export const UNCHANGED: ReadonlySet<string> = new Set(['configuration', 'preflight', 'discovery']);

function shortened(text: string): string {
  const trimmed = text.trim().replace(/[.:]$/, '');
  return trimmed.length > LONGEST ? `${trimmed.slice(0, LONGEST)}…` : trimmed;
}
