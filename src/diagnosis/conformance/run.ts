import { member } from '@machineadm/document/untyped.ts';
import { withoutChecksum } from '../../host/files/checksum.ts';
import { localGroupId } from '../../host/linux/accounts.ts';
import type { FileStat, QueryHost } from '../../host/seam/host.ts';
import { broken, type Clause, kept, type Subject, unchecked } from './clause.ts';
import { enablement } from './unit-files.ts';

const STATUS = '/run/machineadm/status.json';
const SUMMARY = '/run/machineadm/summary.json';
const STATE = '/var/lib/machineadm';
/** May read the status, where the machine has it. */
const GROUP = 'machineadm';
/** Read by others on purpose: the summary of the status, and the names of hardening profiles. */
const PUBLIC = [`${STATE}/summary.json`, `${STATE}/hardening.json`];
const SENTINEL = '/run/cluster-api/bootstrap-success.complete';
const DOCUMENT = '/etc/machineadm/bootstrap.yaml';
const NO_RUN = 'no run was made here';

/** Clauses about what a run leaves. They hold machineadm to its word, on this image, and whoever else writes there. */
export const RUN_CLAUSES: readonly Clause[] = [
  {
    id: 'RUN-01',
    level: 'MUST',
    title: `${STATUS} is 0640 of root and the group ${GROUP}, or of root where there is no such group, and has what every version 1 of it has`,
    async look({ host, status }) {
      const stat = await host.stat(STATUS);
      if (stat === undefined || status === undefined) return unchecked(NO_RUN);
      const wrong = wrongMode(STATUS, stat, 0o640) ?? (await wrongGroup(host, STATUS, stat));
      if (wrong !== undefined) return broken(wrong, `Let nobody else write it. ${REMEDY_FOR_MODES}`);
      const missing = ['runId', 'command', 'phase', 'startedAt', 'updatedAt', 'steps', 'conditions', 'document'].filter(
        (field) => !(field in status),
      );
      if (status.apiVersion !== 'machineadm.dev/status/v1' || status.kind !== 'BootstrapStatus') {
        return broken(`it is ${String(status.kind)} of ${String(status.apiVersion)}`, 'Let nobody else write it.');
      }
      return missing.length === 0
        ? kept(`phase ${String(status.phase)}, outcome ${String(status.outcome ?? 'none yet')}`)
        : broken(`missing: ${missing.join(', ')}`, 'Let nobody else write it.');
    },
  },
  {
    id: 'RUN-02',
    level: 'MUST',
    title: `${SENTINEL} is there only where a run succeeded, with "success" in it, for all to read`,
    async look({ host, status }) {
      const stat = await host.stat(SENTINEL);
      const succeeded = isBootstrapped(status);
      if (stat === undefined) return succeeded ? unchecked('not at its usual place') : kept('no run, no sentinel');
      if (!succeeded) {
        return broken('it is there, and no run on this machine earned it', 'Let nothing in the image write it.');
      }
      const directory = await host.stat('/run/cluster-api');
      const wrong =
        wrongMode(SENTINEL, stat, 0o644) ??
        (directory === undefined ? undefined : wrongMode('/run/cluster-api', directory, 0o755));
      if (wrong !== undefined) return broken(wrong, 'Let nothing in the image change it: it is read by other users.');
      return (await host.readText(SENTINEL)) === 'success\n'
        ? kept('success')
        : broken('its content is not "success" and a line feed', 'Let nothing in the image write it.');
    },
  },
  {
    id: 'RUN-03',
    level: 'MUST',
    title: `what lies in ${STATE} is for root alone, but the status, which its group may read, its summary and the names of hardening profiles`,
    async look({ host, isBooted }) {
      const open = await openTo(host, STATE);
      if (open === undefined) return unchecked(isBooted ? NO_RUN : 'there is nothing yet');
      return open.length === 0
        ? kept('closed')
        : broken(`others can read ${open.join(', ')}`, `Take their rights away: chmod -R go= ${STATE}/…`);
    },
  },
  {
    id: 'RUN-04',
    level: 'MUST',
    title: `${DOCUMENT} is for root alone: it may hold secrets`,
    async look({ host }) {
      const stat = await host.stat(DOCUMENT);
      if (stat === undefined) return unchecked('there is none');
      return stat.uid === 0 && (stat.mode & 0o077) === 0
        ? kept('closed')
        : broken(`its mode is ${octal(stat)}, and it belongs to user ${stat.uid}`, `chmod 0600 ${DOCUMENT}`);
    },
  },
  {
    id: 'RUN-05',
    level: 'MUST',
    title: 'a bootstrapped machine gets its sentinel back after a reboot: machineadm-sentinel.service is enabled',
    async look({ host, status }) {
      if (!isBootstrapped(status)) return unchecked('this machine was not bootstrapped');
      const state = await enablement(host, 'machineadm-sentinel.service');
      if (state === undefined) return unchecked('there is no systemctl');
      return state === 'enabled'
        ? kept(state)
        : broken(`it is ${state}`, 'Run machineadm provision again; let no preset of the image disable it.');
    },
  },
  {
    id: 'RUN-06',
    level: 'MUST',
    title: `${SUMMARY} is 0644 and root's, and says of the run what the status says: users who may not read that can wait for it`,
    async look({ host, status }) {
      if (status === undefined) return unchecked(NO_RUN);
      const stat = await host.stat(SUMMARY);
      if (stat === undefined)
        return broken('it is not there', 'An earlier version wrote the status: run provision again.');
      const directory = await host.stat('/run/machineadm');
      const wrong =
        wrongMode(SUMMARY, stat, 0o644) ??
        (directory === undefined ? undefined : wrongMode('/run/machineadm', directory, 0o755));
      if (wrong !== undefined) return broken(wrong, 'Let nobody else change it: it is read by other users.');
      const summary = parsed(await host.readText(SUMMARY));
      if (summary === undefined) return broken('it is damaged', 'Let nobody else write it. Run provision again.');
      if ([status.phase, member(summary, 'phase')].some((phase) => phase !== 'Concluded')) {
        return unchecked('the run had not concluded when it was read');
      }
      const other = ['runId', 'outcome', 'exitCode'].filter((field) => member(summary, field) !== status[field]);
      return other.length === 0
        ? kept(`outcome ${String(status.outcome)}`)
        : broken(
            `it has another ${other.join(', ')} than the status`,
            'Let nobody else write it. Run provision again.',
          );
    },
  },
];

/**
 * True where this machine is a node that was proven to work. A document for the host alone succeeds, too, but its run has
 * no step that writes a sentinel; a later run that fails leaves the condition as it was.
 */
function isBootstrapped(status: Subject['status']): boolean {
  const has = (list: unknown, matches: (one: unknown) => boolean): boolean => Array.isArray(list) && list.some(matches);
  return (
    has(status?.steps, (one) => member(one, 'id') === 'sentinel') &&
    has(
      status?.conditions,
      (one) => member(one, 'type') === 'machineadm.dev/BootstrapSucceeded' && member(one, 'status') === 'True',
    )
  );
}

const REMEDY_FOR_MODES = 'The next run of machineadm writes it with the right mode and group.';

/** A status is the group's where the machine has it. A group made since the last run takes effect with the next. */
async function wrongGroup(host: QueryHost, path: string, { gid }: FileStat): Promise<string | undefined> {
  const group = (await localGroupId(host, GROUP)) ?? 0;
  return gid === 0 || gid === group ? undefined : `${path} belongs to group ${gid}`;
}

/** The value of a JSON text with or without a checksum; undefined where it is damaged. */
function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(withoutChecksum(text ?? '') ?? '');
  } catch {
    return undefined;
  }
}

/** The files below that others may read or write, those left out that are for them; undefined when there is no such directory. */
async function openTo(host: QueryHost, directory: string): Promise<readonly string[] | undefined> {
  const names = await host.list(directory);
  if (names === undefined) return undefined;
  const open: string[] = [];
  for (const name of names) {
    const path = `${directory}/${name}`;
    const stat = await host.stat(path);
    if (stat === undefined || PUBLIC.includes(path)) continue;
    const most = path === `${STATE}/status.json` ? 0o040 : 0;
    if (stat.type === 'file' && (stat.mode & 0o077 & ~most) !== 0) open.push(`${path} (${octal(stat)})`);
    // What lies in a directory that others cannot enter is out of their reach.
    if (stat.type === 'directory' && (stat.mode & 0o011) !== 0) open.push(...((await openTo(host, path)) ?? []));
  }
  return open;
}

function wrongMode(path: string, stat: FileStat, mode: number): string | undefined {
  if ((stat.mode & 0o7777) === mode && stat.uid === 0) return undefined;
  return `${path} has the mode ${octal(stat)} and belongs to user ${stat.uid}`;
}

function octal(stat: FileStat): string {
  return (stat.mode & 0o7777).toString(8).padStart(4, '0');
}
