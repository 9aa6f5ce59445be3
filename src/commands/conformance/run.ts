import { MachineadmError } from '@machineadm/document/errors.ts';
import { redactDeep } from '@machineadm/document/redaction.ts';
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
import { RootTree } from '../../host/files/root-tree.ts';
import { gatherFacts, openQueryHost, requireLinux } from '../../host/index.ts';
import { parseOsRelease } from '../../host/linux/facts.ts';
import { selfCommand } from '../../host/processes/identity.ts';
import type { Facts } from '../../host/seam/facts.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { refuseUnlessRoot } from '../../pipeline/preflight.ts';

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

export interface ConformanceScope {
  /** The root directory of an image; absent: the running machine, or the chroot that it runs in. */
  readonly root?: string;
  /** Absent: `kubernetes` where any of its programs is installed, otherwise `host`. */
  readonly profile?: Profile;
}

/**
 * Checks a machine or an image against the contract (contract/CONTRACT.md). Read-only; executes nothing of an image.
 * Throws `NotPrivilegedUser`, and `UsageInvalid` where `root` is not a directory.
 */
export async function conformance(scope: ConformanceScope): Promise<ConformanceReport> {
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
  throw new MachineadmError({
    reason: 'UsageInvalid',
    summary: `--root: ${root} is not a directory`,
    remedy: 'Mount or unpack the image, and give the directory that has its /etc and /usr.',
  });
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
