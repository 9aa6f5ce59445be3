import { basename } from 'node:path/posix';
import { broken, type Clause, type ClauseResult, kept, notApplicable, notProven, type Subject } from './clause.ts';
import { whyNotExecutable } from './program-files.ts';
import { splitWords, startCommands, type Unit } from './unit-files.ts';

const PROVISION = 'machineadm-provision.service';
const RESUME = 'machineadm-resume.service';

/** What the unit that starts a bootstrap must come after. */
const AFTER = ['network-online.target', 'local-fs.target', 'machineadm-hooks.service', 'machineadm-sentinel.service'];
const REMEDY = 'Install the unit as the release has it, and put what differs into a drop-in.';
const KEPT_FROM_NODE = ['NODE_OPTIONS', 'NODE_EXTRA_CA_CERTS', 'OPENSSL_CONF'];

/** Clauses about the units that start machineadm. */
export const UNIT_CLAUSES: readonly Clause[] = [PROVISION, RESUME].flatMap((name, index): Clause[] => {
  const flag = name === PROVISION ? '--boot' : '--resume';
  const number = (at: number): string => `UNIT-${String(index * 3 + at).padStart(2, '0')}`;
  const installed =
    (check: (unit: Unit, subject: Subject) => ClauseResult): Clause['check'] =>
    (subject) => {
      const { units } = subject;
      const unit = units.load(name);
      if (unit !== undefined) return check(unit, subject);
      return notApplicable(units.enablement(name) === 'masked' ? `${name} is masked` : `${name} is not installed`);
    };
  return [
    {
      id: number(1),
      level: 'MUST',
      title: `${name} starts after ${AFTER.join(', ')}, and wants the network`,
      check: installed((unit) => {
        const after = unit.dependencies('After');
        const missing = AFTER.filter((one) => !after.includes(one));
        if (missing.length > 0) return broken(`${unit.path}: not After=${missing.join(' ')}`, REMEDY);
        return unit.dependencies('Wants', 'Requires', 'BindsTo').includes('network-online.target')
          ? kept(unit.path)
          : broken(`${unit.path}: nothing pulls in network-online.target`, REMEDY);
      }),
    },
    {
      id: number(2),
      level: 'MUST',
      title: `${name} starts "provision ${flag}", which does nothing once the document was applied, unless a hook runs at every boot, and sets no deadline`,
      check: installed((unit, subject) => {
        const wrong = whyNotProvisioning(subject, unit, flag);
        if (wrong !== undefined) return wrong;
        const conditions = unit.list('Unit', 'ConditionPathExists');
        if (conditions.some((value) => /^\|?!\/run\/cluster-api\//.test(value))) {
          return broken(`${unit.path}: a ConditionPathExists on the sentinel prevents apply: EveryBoot`, REMEDY);
        }
        const deadline = deadlineOf(unit);
        return deadline === undefined ? kept(unit.path) : broken(`${unit.path}: ${deadline}`, REMEDY);
      }),
    },
    {
      id: number(3),
      level: 'MUST',
      title: `${name} unsets NODE_OPTIONS, NODE_EXTRA_CA_CERTS and OPENSSL_CONF`,
      check: installed((unit) => {
        const unset = unit.list('Service', 'UnsetEnvironment').flatMap(splitWords);
        const missing = KEPT_FROM_NODE.filter((variable) => !unset.includes(variable));
        return missing.length === 0
          ? kept(unit.path)
          : broken(`${unit.path}: not UnsetEnvironment=${missing.join(' ')}`, REMEDY);
      }),
    },
  ];
});

/** One more, about both. */
export const ONE_STARTER: Clause = {
  id: 'UNIT-07',
  level: 'MUST',
  title: `${PROVISION} and ${RESUME} are not both enabled`,
  check({ units }) {
    const states = [PROVISION, RESUME].map((unit) => units.enablement(unit));
    return states.every((state) => state === 'enabled')
      ? broken('both are', 'Enable provision where the unit starts the bootstrap, resume where cloud-init does.')
      : kept(`${PROVISION} ${states[0]}, ${RESUME} ${states[1]}`);
  },
};

/** Why the commands of a unit do not start a provision with this flag; undefined where one does. */
function whyNotProvisioning({ tree }: Subject, unit: Unit, flag: string): ClauseResult | undefined {
  const commands = startCommands(tree, unit);
  const own = commands.find(({ program }) => basename(program) === 'machineadm');
  if (own === undefined) {
    const isWrapped = commands.some(({ program, args }) =>
      [program, ...args].some((word) => word.includes('machineadm')),
    );
    return isWrapped
      ? notProven(`${unit.path} starts ${commands[0]?.program}, which may start machineadm`)
      : broken(`${unit.path}: ExecStart= does not start machineadm`, REMEDY);
  }
  const path = tree.which(own.program);
  if (path === undefined) {
    return broken(
      `${unit.path}: ${own.program} of ExecStart= does not exist`,
      'Name the path at which machineadm is installed.',
    );
  }
  const unfit = whyNotExecutable(tree, path);
  if (unfit !== undefined) return broken(unfit, 'Install the binary for the architecture of the image.');
  const missing = ['provision', flag].filter((word) => !own.args.includes(word));
  return missing.length === 0 ? undefined : broken(`${unit.path}: ExecStart= lacks ${missing.join(' ')}`, REMEDY);
}

/** Settings of systemd.unit(5) and systemd.service(5) that end a start, one line for those that set the same. */
const DEADLINES: readonly (readonly ['Unit' | 'Service', ...string[]])[] = [
  ['Service', 'TimeoutStartSec', 'TimeoutSec'],
  ['Unit', 'JobTimeoutSec'],
  ['Unit', 'JobRunningTimeoutSec'],
];

/** The deadline that would end a run in the middle of it. A oneshot has none unless it is set (systemd.service(5)). */
function deadlineOf(unit: Unit): string | undefined {
  const type = unit.last('Service', 'Type') ?? 'simple';
  for (const [section, ...keys] of DEADLINES) {
    const value = unit.last(section, ...keys);
    if (value !== undefined && isDeadline(value)) return `${keys.join(' or ')}=${value}`;
  }
  if (type === 'oneshot') return undefined;
  // For other types the start has a deadline by default, or the run is not part of the start.
  const limit = unit.last('Service', 'RuntimeMaxSec');
  return limit !== undefined && isDeadline(limit) ? `RuntimeMaxSec=${limit}` : `Type=${type} and not oneshot`;
}

/** `infinity` and 0 are none; what systemd cannot parse it ignores. */
function isDeadline(value: string): boolean {
  return /^[\d\s.a-zµ]+$/i.test(value) && /[1-9]/.test(value);
}
