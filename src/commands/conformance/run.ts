import type { ExitName } from '@machineadm/document/outcomes/exit-codes.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { redactDeep } from '@machineadm/document/redaction/process-redactor.ts';
import { type CheckFormat, type CheckReport, printCheckReport } from '../../cli/findings.ts';
import { usageError } from '../../cli/usage-error.ts';
import type { Finding } from '../../diagnosis/checks/finding.ts';
import {
  CONTRACT_VERSION,
  type Profile,
  type Subject,
  type VersionedProgram,
} from '../../diagnosis/conformance/clause.ts';
import {
  type EvaluatedClause,
  evaluateClauses,
  profileOf,
  type Verdict,
  verdictOf,
} from '../../diagnosis/conformance/index.ts';
import { versionsInProgram } from '../../diagnosis/conformance/program-files.ts';
import { UnitFiles } from '../../diagnosis/conformance/unit-files.ts';
import { gatherFacts, openQueryHost, requireLinux } from '../../host/index.ts';
import { RootTree } from '../../host/local-files/root-tree.ts';
import { parseOsRelease } from '../../host/machine/linux-facts.ts';
import { selfCommand } from '../../host/processes/identity.ts';
import type { Facts } from '../../host/seam/facts.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { refuseUnlessRoot } from '../../pipeline/preflight.ts';

export interface ConformanceOptions extends ConformanceScope {
  readonly output: CheckFormat;
}

const ENDS: Readonly<Record<Verdict, { readonly exit: ExitName; readonly reason?: Reason; readonly text: string }>> = {
  kept: { exit: 'Success', text: 'keeps' },
  broken: { exit: 'DifferencesFound', reason: 'ContractBroken', text: 'does not keep' },
  notProven: { exit: 'NotProven', reason: 'ContractNotProven', text: 'is not proven to keep' },
};

/**
 * `machineadm conformance`: prints a line for each clause of the contract. Exits with 20 where a MUST is broken and
 * with 22 where one could not be checked.
 */
export async function conformanceCommand({ output, ...scope }: ConformanceOptions): Promise<number> {
  return await printCheckReport(output, checkReportOf(await conformance(scope)));
}

/** The report in the form that all checks share. */
export function checkReportOf(report: ConformanceReport): CheckReport {
  const { contract, profile, os, verdict } = report;
  const { exit, reason } = ENDS[verdict];
  return {
    kind: 'ConformanceReport',
    name: `machineadm contract ${contract}, profile ${profile}, ${os.id} ${os.version}`.trim(),
    findings: findingsOf(report),
    data: reason === undefined ? report : { ...report, reason },
    verdict: sentenceOf(report),
    ...(reason === undefined ? {} : { reason }),
    exit,
  };
}

function sentenceOf({ contract, profile, verdict, os, clauses }: ConformanceReport): string {
  const decisive = clauses.filter(({ state, level }) => state === verdict && level === 'MUST').map(({ id }) => id);
  const named = verdict === 'kept' ? '' : `: ${decisive.join(', ')}`;
  return `${`${os.id} ${os.version}`.trim()} ${ENDS[verdict].text} contract ${contract} (profile ${profile})${named}`;
}

/** A broken SHOULD is a warning: it does not change the exit code. */
function findingsOf({ clauses }: ConformanceReport): readonly Finding[] {
  return clauses.map((clause) => {
    const { id, level, title, state, text } = clause;
    const severities = { kept: 'passed', broken: 'failed', notProven: 'undecided', notApplicable: 'skipped' } as const;
    const severity = level === 'SHOULD' && /broken|notProven/.test(state) ? 'warning' : severities[state];
    const remedy = clause.state === 'broken' ? { remedy: clause.remedy } : {};
    return { id, title: `${level} ${title}`, severity, text, ...remedy };
  });
}

/** Units with clauses in the contract. */
const UNITS = ['kubelet', 'containerd', 'crio', 'machineadm-provision', 'machineadm-resume'];

export interface ConformanceReport {
  readonly contract: string;
  readonly profile: Profile;
  readonly verdict: Verdict;
  /** Every applicable MUST is satisfied. */
  readonly conforms: boolean;
  readonly os: { readonly id: string; readonly version: string };
  readonly clauses: readonly EvaluatedClause[];
}

interface ConformanceScope {
  /** The root directory of an image; absent: the running machine, or the chroot that it runs in. */
  readonly root?: string;
  /** Absent: `kubernetes` where any of its programs is installed, otherwise `host`. */
  readonly profile?: Profile;
}

/**
 * Checks a machine or an image against the contract (contract/CONTRACT.md). Read-only; executes nothing of an image.
 * Throws `NotPrivilegedUser`, and `UsageInvalid` where `root` is not a directory.
 */
async function conformance(scope: ConformanceScope): Promise<ConformanceReport> {
  requireLinux('machineadm conformance');
  refuseUnlessRoot({ isRoot: process.geteuid?.() === 0 });
  const subject = scope.root === undefined ? await ofMachine(scope) : ofImage(scope.root, scope.profile);
  const clauses = redactDeep(await evaluateClauses(subject));
  const verdict = verdictOf(clauses);
  return {
    contract: CONTRACT_VERSION,
    profile: subject.profile,
    verdict,
    conforms: verdict === 'kept',
    os:
      subject.profile === 'windows'
        ? { id: 'windows', version: '' }
        : parseOsRelease(
            subject.tree.readText('/etc/os-release') ?? subject.tree.readText('/usr/lib/os-release') ?? '',
          ),
    clauses,
  };
}

/** An image in a directory: only its files are available. */
export function ofImage(root: string, profile?: Profile): Subject {
  const linux = open(root, false);
  const windows = open(root, true);
  const chosen = profile ?? (profileOf({ tree: windows }) === 'windows' ? 'windows' : profileOf({ tree: linux }));
  const tree = chosen === 'windows' ? windows : linux;
  return {
    tree,
    profile: chosen,
    isRunning: false,
    program: tree.which('machineadm'),
    versions: versionsOf(tree),
    units: new UnitFiles(tree),
  };
}

function open(root: string, ignoresCase: boolean): RootTree {
  try {
    const tree = new RootTree(root, ignoresCase);
    if (tree.stat('/')?.type === 'directory') return tree;
  } catch {
    // Reported below, like a file that is not a directory.
  }
  throw usageError(
    `--root: ${root} is not a directory`,
    'Mount or unpack the image, and give the directory that has its /etc and /usr.',
  );
}

async function ofMachine({ profile }: ConformanceScope): Promise<Subject> {
  const host = openQueryHost();
  const facts = await gatherFacts(host);
  const tree = new RootTree('/');
  const [program] = selfCommand();
  const base = { tree, profile: profile ?? profileOf({ tree }), program };
  // In a chroot /proc and /sys, if mounted, belong to the build machine.
  if (facts.serviceManager === 'none')
    return { ...base, isRunning: false, versions: versionsOf(tree), units: new UnitFiles(tree) };
  return {
    ...base,
    isRunning: true,
    versions: reportedVersions(facts),
    units: new UnitFiles(tree, await unitTexts(host)),
  };
}

function versionsOf(tree: RootTree): Subject['versions'] {
  return (program) => {
    const path = tree.which(program);
    return path === undefined ? [] : versionsInProgram(tree, path);
  };
}

function reportedVersions(facts: Pick<Facts, VersionedProgram>): Subject['versions'] {
  return (program) => {
    const version = facts[program];
    return version === undefined ? [] : [version];
  };
}

/** Units as systemd itself finds and merges them. */
async function unitTexts(host: QueryHost): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for (const unit of UNITS.map((name) => `${name}.service`)) {
    const { status, stdout } = await host.query({ program: 'systemctl', args: ['cat', '--no-pager', unit] });
    if (status === 0) texts.set(unit, stdout);
  }
  return texts;
}
