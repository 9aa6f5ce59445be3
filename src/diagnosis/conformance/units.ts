import { broken, type Clause, kept, unchecked } from './clause.ts';
import { enablement, readUnit, settings, type UnitFiles } from './unit-files.ts';

const PROVISION = 'machineadm-provision.service';
const RESUME = 'machineadm-resume.service';

/** What the unit that starts a bootstrap must come after. */
const AFTER = ['network-online.target', 'local-fs.target', 'machineadm-hooks.service', 'machineadm-sentinel.service'];
const REMEDY = 'Install the unit as the release has it, and put what differs into a drop-in.';

/** Clauses about the units that start machineadm. */
export const UNIT_CLAUSES: readonly Clause[] = [PROVISION, RESUME].flatMap((unit, index): Clause[] => {
  const flag = unit === PROVISION ? '--boot' : '--resume';
  const number = (at: number): string => `UNIT-${String(index * 3 + at).padStart(2, '0')}`;
  const present =
    (look: (files: UnitFiles) => ReturnType<Clause['look']>): Clause['look'] =>
    async ({ host }) => {
      const files = await readUnit(host, unit);
      return files === undefined ? unchecked(`${unit} is not installed`) : await look(files);
    };
  return [
    {
      id: number(1),
      level: 'MUST',
      title: `${unit} starts after ${AFTER.join(', ')}, and wants the network`,
      look: present(async ({ path, text }) => {
        const after = settings(text, 'After').flatMap((value) => value.split(/\s+/));
        const missing = AFTER.filter((name) => !after.includes(name));
        if (missing.length > 0) return broken(`${path}: not After=${missing.join(' ')}`, REMEDY);
        const wants = [...settings(text, 'Wants'), ...settings(text, 'Requires')].join(' ');
        return wants.includes('network-online.target')
          ? kept(path)
          : broken(`${path}: nothing pulls in network-online.target`, REMEDY);
      }),
    },
    {
      id: number(2),
      level: 'MUST',
      title: `${unit} starts "provision ${flag}", which does nothing once the document was applied unless that asks for every boot, and has no deadline of its own`,
      look: present(async ({ path, text }) => {
        const command = settings(text, 'ExecStart').at(-1) ?? '';
        if (!command.split(/\s+/).includes(flag)) return broken(`${path}: ExecStart lacks ${flag}`, REMEDY);
        const conditions = settings(text, 'ConditionPathExists');
        if (conditions.some((value) => value.startsWith('!/run/cluster-api/'))) {
          return broken(`${path}: a ConditionPathExists on the sentinel prevents apply: EveryBoot`, REMEDY);
        }
        // systemd.service(5): without it a oneshot has none; one that was set would kill a run in the middle of it.
        const limit = settings(text, 'TimeoutStartSec').at(-1) ?? 'infinity';
        return limit === 'infinity' ? kept(path) : broken(`${path}: TimeoutStartSec=${limit}`, REMEDY);
      }),
    },
    {
      id: number(3),
      level: 'MUST',
      title: `${unit} hands over neither NODE_OPTIONS nor NODE_EXTRA_CA_CERTS nor OPENSSL_CONF`,
      look: present(async ({ path, text }) => {
        const taken = settings(text, 'UnsetEnvironment').join(' ');
        const missing = ['NODE_OPTIONS', 'NODE_EXTRA_CA_CERTS', 'OPENSSL_CONF'].filter((name) => !taken.includes(name));
        return missing.length === 0 ? kept(path) : broken(`${path}: not UnsetEnvironment=${missing.join(' ')}`, REMEDY);
      }),
    },
  ];
});

/** One more, about both. */
export const ONE_STARTER: Clause = {
  id: 'UNIT-07',
  level: 'MUST',
  title: `${PROVISION} and ${RESUME} are not both enabled`,
  async look({ host }) {
    const states = await Promise.all([PROVISION, RESUME].map(async (unit) => await enablement(host, unit)));
    if (states[0] === undefined) return unchecked('there is no systemctl');
    return states.every((state) => state === 'enabled')
      ? broken('both are', 'Enable provision where the unit starts the bootstrap, resume where cloud-init does.')
      : kept(`${PROVISION} ${states[0]}, ${RESUME} ${states[1]}`);
  },
};
