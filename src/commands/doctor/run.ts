import { redactDeep } from '@machineadm/document/redaction/process-redactor.ts';
import { omitUndefined } from '@machineadm/document/values/defined.ts';
import type { Verdict } from '@machineadm/failures/verdict.ts';
import type { MachineState, RunStatus } from '@machineadm/status/status.ts';
import { MACHINE_SENTENCES } from '@machineadm/status/this-machine.ts';
import { buildInfo } from '../../cli/build-info.ts';
import { type CheckFormat, type CheckReport, printCheckReport } from '../../cli/findings.ts';
import { type Finding, runCheckGroups } from '../../diagnosis/checks/finding.ts';
import { checkKubelet } from '../../diagnosis/checks/kubelet.ts';
import { gatherFacts, openQueryHost, requireLinux } from '../../host/index.ts';
import type { Facts } from '../../host/seam/facts.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { probeNodeWithin } from '../../kubernetes/node-health.ts';
import type { NodeReadiness } from '../../kubernetes/readiness.ts';
import { openDocument } from '../../pipeline/load.ts';
import { stateOf } from '../../pipeline/machine-state.ts';
import { refuseUnlessRoot } from '../../pipeline/preflight.ts';
import { readStatus } from '../../reporting/status-file.ts';
import { isProvenNode, verdictOnMachine } from '../diagnose/machine.ts';
import { machineCheckGroups } from './machine-checks.ts';

const LIMIT_MS = 15_000;

export interface DoctorOptions {
  readonly document?: readonly string[];
  readonly output: CheckFormat;
}

const GROUPS: readonly string[] = [
  'node',
  'document',
  'machine',
  'network',
  'container runtime',
  'certificates',
  'control plane',
];

/**
 * `machineadm doctor`: checks whether a bootstrap can succeed here, or whether the node works. Exits with 20 where
 * something is wrong.
 */
export async function doctor(options: DoctorOptions): Promise<number> {
  return await printCheckReport(options.output, doctorReport(await examine(options.document ?? [])));
}

/** The report in the form that all checks share. */
export function doctorReport(report: DoctorReport): CheckReport {
  const { findings, failed } = report;
  return {
    kind: 'DoctorReport',
    name: 'machineadm doctor',
    findings,
    data: { ...report, checks: findings.map(checkOf) },
    groups: GROUPS,
    verdict: failed === 0 ? 'nothing prevents a run' : 'problems were found',
    exit: failed > 0 ? 'DifferencesFound' : 'Success',
  };
}

interface DoctorReport {
  /** undefined: the journal is damaged. */
  readonly machineState?: MachineState;
  /** On a node, or after a failed run: the verdict of `diagnose`. */
  readonly verdict?: Verdict;
  readonly findings: readonly Finding[];
  readonly failed: number;
  readonly warnings: number;
}

/**
 * Checks whether a bootstrap could succeed on this machine: the requirements of the document's steps, kubeadm's checks,
 * and the connection to the API server. On a bootstrapped machine: whether the node works; after a failed run: its
 * verdict. Uses a read-only host. Without a document only the machine is checked, as a worker. Throws `DocumentInvalid`
 * and `NotPrivilegedUser`.
 */
async function examine(sources: readonly string[]): Promise<DoctorReport> {
  requireLinux('machineadm doctor');
  const host = openQueryHost();
  const facts = await gatherFacts(host);
  refuseUnlessRoot(facts);
  const document =
    sources.length === 0
      ? undefined
      : await openDocument(sources, buildInfo().version, { forThisMachine: true, distrust: 'collect' });
  const status = await readStatus().catch(() => undefined);
  const known = await stateOf(host, facts);
  let verdict: Verdict | undefined;
  let state = known;
  const checks = await runCheckGroups(
    {
      node: async () => {
        verdict = await verdictOnMachine(host, facts, status);
        const isProbed = status?.failure === undefined && (await isProvenNode(host, facts, status));
        const works = isProbed ? verdict?.outcome === 'success' : undefined;
        if (known === 'node' && works === false) state = 'broken node';
        return nodeChecks(verdict, status, state, isProbed);
      },
      ...nodeCheckGroups(host, facts),
      ...machineCheckGroups(host, facts, document, known),
    },
    LIMIT_MS,
  );
  return report(checks, verdict, state);
}

/** Whether a node's kubelet runs, and whether its Node is Ready. */
export function nodeCheckGroups(host: QueryHost, facts: Facts): Parameters<typeof runCheckGroups>[0] {
  const onNode = (look: () => Promise<readonly Finding[]>) => async () =>
    (await host.stat('/etc/kubernetes/kubelet.conf')) === undefined ? [] : await look();
  return {
    kubelet: onNode(() => checkKubelet(host, Date.now())),
    'node ready': onNode(async () => readyCheck(await probeNodeWithin(host, facts, 'NodeReady', LIMIT_MS - 1_000))),
  };
}

/**
 * Other problems of the node are in the verdict. Without a pod network a Node is not Ready, although nothing is broken.
 */
function readyCheck(readiness: NodeReadiness): readonly Finding[] {
  const base = { id: 'node/ready', title: 'node' } as const;
  if (readiness.ready) return [{ ...base, severity: 'passed', text: 'the Node of this machine is Ready' }];
  const { reason, why } = readiness;
  if (reason !== 'NodeNotReady') return [];
  const severity = /network plugin|\bcni\b/i.test(why) ? 'warning' : 'failed';
  const remedy = 'Read the condition of the Node: `kubectl describe node`; without a pod network, install one.';
  return [{ ...base, severity, reason, text: why, remedy }];
}

/**
 * The verdict on a node, or on the failed run.
 *
 * @param isProbed whether the verdict is on a node that was probed now
 */
export function nodeChecks(
  verdict: Verdict | undefined,
  status: RunStatus | undefined,
  state: MachineState | undefined,
  isProbed: boolean,
): readonly Finding[] {
  if (verdict === undefined) return [];
  const base = { id: 'node', title: 'node' } as const;
  const { outcome, reason, summary, remedy, retryable } = verdict;
  const known = state === undefined ? 'this machine has a damaged journal' : MACHINE_SENTENCES[state];
  const isOurs = state !== 'never touched';
  if (outcome === 'success') {
    const text = isProbed
      ? `${isOurs ? known : 'this machine is a node that machineadm did not create'}, and it works`
      : `${known}; the last run succeeded`;
    return [{ ...base, severity: 'passed', text }];
  }
  const why = status?.failure !== undefined ? 'the last run failed' : state === 'broken node' ? known : undefined;
  const later = retryable ? 'The same command may succeed later.' : 'The same command will fail again.';
  return [
    {
      ...base,
      severity: 'failed',
      text: why === undefined ? summary : `${why}: ${summary}`,
      ...(reason === 'Unknown' || reason === '' ? {} : { reason }),
      remedy: `${remedy} ${later}`,
    },
  ];
}

function report(
  found: readonly Finding[],
  verdict: Verdict | undefined,
  machineState: MachineState | undefined,
): DoctorReport {
  // A missing requirement of the document is reported with its place: the same finding about the machine is left out.
  const missing = found.flatMap(({ title, severity, reason }) =>
    title === 'document' && severity === 'failed' && reason !== undefined ? [reason] : [],
  );
  const findings = found.filter(
    ({ title, reason }) => title === 'document' || reason === undefined || !missing.includes(reason),
  );
  return redactDeep({
    ...omitUndefined({ machineState, verdict }),
    findings,
    failed: findings.filter(({ severity }) => severity === 'failed').length,
    warnings: findings.filter(({ severity }) => severity === 'warning').length,
  });
}

/** A finding in the format that reports of `doctor` have had since their first version. */
export interface Check extends Pick<Finding, 'id' | 'text' | 'reason' | 'remedy'> {
  readonly group: string;
  readonly state: 'ok' | 'warning' | 'failed' | 'skipped';
}

export function checkOf({ id, title: group, severity, text, reason, remedy }: Finding): Check {
  const state = severity === 'passed' ? 'ok' : severity === 'undecided' ? 'skipped' : severity;
  return { id, group, state, text, ...omitUndefined({ reason, remedy }) };
}
