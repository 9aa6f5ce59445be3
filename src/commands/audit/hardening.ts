import { nearestName } from '@machineadm/document/diagnostics/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { redactDeep } from '@machineadm/document/redaction/process-redactor.ts';
import { HARDENING_PROFILES, type HardeningProfile } from '@machineadm/document/sections/hardening-controls.ts';
import { buildInfo } from '../../cli/build-info.ts';
import { type CheckFormat, printCheckReport } from '../../cli/findings.ts';
import { usageError } from '../../cli/usage-error.ts';
import type { Finding } from '../../diagnosis/checks/finding.ts';
import { type AuditedControl, auditControls } from '../../features/hardening/audit.ts';
import { gatherFacts, openQueryHost, requireLinux } from '../../host/index.ts';
import { readRecord } from '../../kubernetes/hardening/record.ts';
import { openDocument } from '../../pipeline/load.ts';

interface HardeningOptions {
  readonly document?: readonly string[];
  readonly profile?: readonly string[];
  readonly output: CheckFormat;
}

/** `machineadm audit --profile P`: each control of a benchmark with what proves it. 20 while one fails. */
export async function auditHardeningCommand({ document, profile, output }: HardeningOptions): Promise<number> {
  const report = await auditHardening(document ?? [], profile ?? []);
  const profiles = report.profiles.join(', ');
  return await printCheckReport(output, {
    kind: 'HardeningAudit',
    name: `machineadm audit of ${profiles}`,
    findings: report.controls.map(findingOf),
    data: report,
    verdict: profiles,
    exit: report.summary.fail > 0 ? 'DifferencesFound' : 'Success',
  });
}

const SEVERITIES = { pass: 'passed', fail: 'failed', exception: 'warning', 'not-applicable': 'skipped' } as const;

/** What proves that a control holds is printed as data only: it would be most of the report for people. */
function findingOf({ id, state, title, evidence, reason }: AuditedControl): Finding {
  const proof = evidence.map((one) => `${one.source}: ${one.text}`).join('\n');
  const excepted = state === 'exception' ? `excepted: ${reason}` : reason;
  return { id, title, severity: SEVERITIES[state], text: excepted ?? (state === 'pass' ? 'holds' : proof) };
}

export interface HardeningReport {
  readonly profiles: readonly HardeningProfile[];
  readonly node: {
    readonly hostname: string;
    readonly role: 'control-plane' | 'worker' | undefined;
    /** The kubelet's version; undefined = not installed. */
    readonly kubelet: string | undefined;
  };
  /** The source of the exceptions: the document, the record of the last provision, or none. */
  readonly exceptionsOf: 'document' | 'record' | 'nobody';
  readonly summary: {
    readonly pass: number;
    readonly fail: number;
    readonly exception: number;
    readonly notApplicable: number;
  };
  readonly controls: readonly AuditedControl[];
}

/**
 * Audits this machine against benchmarks, on a read-only host. The profiles are those named, otherwise those of the
 * document, otherwise those that the machine was provisioned with. Throws `UsageInvalid`, `NotANode`, and the errors of
 * `openDocument`.
 */
async function auditHardening(sources: readonly string[], named: readonly string[]): Promise<HardeningReport> {
  requireLinux('machineadm audit');
  const host = openQueryHost();
  const profiles = named.map(profileOf);
  const document = sources.length === 0 ? undefined : await openDocument(sources, buildInfo().version);
  const record = document === undefined ? await readRecord(host) : undefined;
  const machine = document?.model.hardening ?? record;
  const chosen = profiles.length > 0 ? profiles : (machine?.profiles ?? []);
  if (chosen.length + (machine?.include.length ?? 0) === 0) throw nothingChosen();
  const facts = await gatherFacts(host);
  const { controls, role } = await auditControls(host, { profiles: chosen }, machine, facts.kubelet?.minor);
  // Without a node nearly all controls do not apply, which must not look like a pass.
  if (role === undefined && chosen.some((profile) => profile !== 'cis-os')) throw noNode();
  const count = (state: AuditedControl['state']): number => controls.filter((one) => one.state === state).length;
  return redactDeep({
    profiles: chosen,
    node: { hostname: facts.hostname, role, kubelet: facts.kubelet?.text },
    exceptionsOf: machine === undefined ? 'nobody' : record === undefined ? 'document' : 'record',
    summary: {
      pass: count('pass'),
      fail: count('fail'),
      exception: count('exception'),
      notApplicable: count('not-applicable'),
    },
    controls,
  });
}

function profileOf(name: string): HardeningProfile {
  const profile = HARDENING_PROFILES.find((one) => one === name);
  if (profile !== undefined) return profile;
  const near = nearestName(name, HARDENING_PROFILES);
  throw usageError(
    `--profile: there is no profile "${name}"`,
    near === undefined ? `Use one of ${HARDENING_PROFILES.join(', ')}.` : `Did you mean "${near}"?`,
  );
}

function nothingChosen(): MachineadmError {
  return usageError(
    'audit needs a profile, because this machine was provisioned without a hardening profile',
    `Pass --profile (${HARDENING_PROFILES.join(', ')}), or --residue for secrets that other tools left.`,
  );
}

function noNode(): MachineadmError {
  return new MachineadmError({
    reason: 'NotANode',
    summary: 'this machine is not a node: it has no /etc/kubernetes/kubelet.conf',
    remedy: 'Run the audit on a node. The profile cis-os can be audited on any machine.',
  });
}
