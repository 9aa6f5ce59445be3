import {
  DEFAULT_SENTINEL,
  HARDENING_RECORD,
  MACHINE_DOCUMENT,
  RUN_DIRECTORY,
  STATE_DIRECTORY,
  STATUS_GROUP,
} from '@machineadm/document/ownership/paths.ts';
import { formatMode } from '@machineadm/document/text/units.ts';
import { member } from '@machineadm/document/values/untyped.ts';
import { checksummedJson } from '../../host/files/checksum.ts';
import { GROUP_FILES, idIn } from '../../host/linux/accounts.ts';
import type { RootTree } from '../../host/local-files/root-tree.ts';
import type { FileStat } from '../../host/seam/host.ts';
import { broken, type Clause, kept, notApplicable, notProven, type Subject } from './clause.ts';

const STATUS = `${RUN_DIRECTORY}/status.json`;
const SUMMARY = `${RUN_DIRECTORY}/summary.json`;
/** Read by others on purpose: the summary of the status, and the names of hardening profiles. */
const PUBLIC = [`${STATE_DIRECTORY}/summary.json`, HARDENING_RECORD];
const NO_RUN = 'no run was made here';

/** Clauses about what a run leaves. They hold machineadm to its word, on this image, and whoever else writes there. */
export const RUN_CLAUSES: readonly Clause[] = [
  {
    id: 'RUN-01',
    level: 'MUST',
    title: `${STATUS} is 0640 of root and the group ${STATUS_GROUP}, or of root where there is no such group, and has what every version 1 of it has`,
    check(subject) {
      const stat = subject.tree.lstat(STATUS);
      const status = statusOf(subject);
      if (stat === undefined || status === undefined) return notApplicable(NO_RUN);
      const wrong = wrongMode(STATUS, stat, 0o640) ?? wrongGroup(subject.tree, STATUS, stat);
      if (wrong !== undefined) return broken(wrong, `Let only root write it. ${REMEDY_FOR_MODES}`);
      const missing = ['runId', 'command', 'phase', 'startedAt', 'updatedAt', 'steps', 'conditions', 'document'].filter(
        (field) => !(field in status),
      );
      if (status.apiVersion !== 'machineadm.dev/status/v1' || status.kind !== 'BootstrapStatus') {
        return broken(`it is ${String(status.kind)} of ${String(status.apiVersion)}`, 'Let only root write it.');
      }
      return missing.length === 0
        ? kept(`phase ${String(status.phase)}, outcome ${String(status.outcome ?? 'none yet')}`)
        : broken(`missing: ${missing.join(', ')}`, 'Let only root write it.');
    },
  },
  {
    id: 'RUN-02',
    level: 'MUST',
    title: `${DEFAULT_SENTINEL} exists only after a run that succeeded, contains "success", and is readable for all users`,
    check(subject) {
      const { tree } = subject;
      const stat = tree.lstat(DEFAULT_SENTINEL);
      const succeeded = isBootstrapped(statusOf(subject));
      if (stat === undefined) return succeeded ? notApplicable('not at its usual place') : kept('no run, no sentinel');
      if (!succeeded) {
        return broken('it is there, and no run on this machine earned it', 'Let nothing in the image write it.');
      }
      const directory = tree.lstat('/run/cluster-api');
      const wrong =
        wrongMode(DEFAULT_SENTINEL, stat, 0o644) ??
        (directory === undefined ? undefined : wrongMode('/run/cluster-api', directory, 0o755));
      if (wrong !== undefined) return broken(wrong, 'Let nothing in the image change it: it is read by other users.');
      return tree.readText(DEFAULT_SENTINEL) === 'success\n'
        ? kept('success')
        : broken('its content is not "success" and a line feed', 'Let nothing in the image write it.');
    },
  },
  {
    id: 'RUN-03',
    level: 'MUST',
    title: `${STATE_DIRECTORY} belongs to root, and only root can read what is below it, except the status (also its group), its summary and the names of hardening profiles (all users)`,
    check({ tree }) {
      const directory = tree.lstat(STATE_DIRECTORY);
      if (directory === undefined) return notApplicable('there is nothing yet');
      const wrong = directory.type === 'directory' ? [] : [`${STATE_DIRECTORY} is a ${directory.type}`];
      if (directory.uid !== 0 || (directory.mode & 0o022) !== 0) wrong.push(described(STATE_DIRECTORY, directory));
      wrong.push(...openBelow(tree, STATE_DIRECTORY));
      return wrong.length === 0
        ? kept('closed')
        : broken(
            wrong.join(', '),
            `Give it to root alone: chown -R root:root ${STATE_DIRECTORY}, and chmod go= what is below it.`,
          );
    },
  },
  {
    id: 'RUN-04',
    level: 'MUST',
    title: `only root can read ${MACHINE_DOCUMENT}, and root owns its directory: it may contain secrets`,
    check({ tree }) {
      const directory = tree.stat('/etc/machineadm');
      const wrong: string[] = [];
      if (directory !== undefined && (directory.uid !== 0 || (directory.mode & 0o022) !== 0)) {
        wrong.push(described('/etc/machineadm', directory));
      }
      const document = tree.stat(MACHINE_DOCUMENT);
      const link = tree.lstat(MACHINE_DOCUMENT);
      if (document === undefined && wrong.length === 0) return notApplicable('there is no document');
      if (document !== undefined && (document.uid !== 0 || link?.uid !== 0 || (document.mode & 0o077) !== 0)) {
        wrong.push(described(document.path, document));
      }
      return wrong.length === 0
        ? kept('closed')
        : broken(
            wrong.join(', '),
            `chown root:root /etc/machineadm ${MACHINE_DOCUMENT}; chmod 0600 ${MACHINE_DOCUMENT}`,
          );
    },
  },
  {
    id: 'RUN-05',
    level: 'MUST',
    title: 'a bootstrapped machine gets its sentinel back after a reboot: machineadm-sentinel.service is enabled',
    check(subject) {
      if (!isBootstrapped(statusOf(subject))) return notApplicable('this machine was not bootstrapped');
      const state = subject.units.enablement('machineadm-sentinel.service');
      return state === 'enabled'
        ? kept(state)
        : broken(`it is ${state}`, 'Run machineadm provision again; let no preset of the image disable it.');
    },
  },
  {
    id: 'RUN-06',
    level: 'MUST',
    title: `${SUMMARY} is 0644 and root's, and says of the run what the status says: users who may not read that can wait for it`,
    check(subject) {
      const { tree } = subject;
      const status = statusOf(subject);
      if (status === undefined) return notApplicable(NO_RUN);
      const stat = tree.lstat(SUMMARY);
      if (stat === undefined) {
        return broken('it does not exist', 'An earlier version wrote the status: run provision again.');
      }
      const directory = tree.lstat(RUN_DIRECTORY);
      const wrong =
        wrongMode(SUMMARY, stat, 0o644) ??
        (directory === undefined ? undefined : wrongMode(RUN_DIRECTORY, directory, 0o755));
      if (wrong !== undefined) return broken(wrong, 'Let only root change it: other users read it.');
      const summary = checksummedJson(tree.readText(SUMMARY));
      if (summary === undefined) return broken('it is damaged', 'Let only root write it. Run provision again.');
      if ([status.phase, member(summary, 'phase')].some((phase) => phase !== 'Concluded')) {
        return notProven('the run had not concluded when it was read');
      }
      const other = ['runId', 'outcome', 'exitCode'].filter((field) => member(summary, field) !== status[field]);
      return other.length === 0
        ? kept(`outcome ${String(status.outcome)}`)
        : broken(`it has another ${other.join(', ')} than the status`, 'Let only root write it. Run provision again.');
    },
  },
];

/** The status document of the last run; `{}` where it is damaged. An image holds none: /run is in memory. */
function statusOf({ tree, isRunning }: Subject): Readonly<Record<string, unknown>> | undefined {
  const text = isRunning ? tree.readText(STATUS) : undefined;
  if (text === undefined) return undefined;
  const value = checksummedJson(text);
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

/**
 * True where this machine is a node that was proven to work. A document for the host alone succeeds, too, but its run has
 * no step that writes a sentinel; a later run that fails leaves the condition as it was.
 */
function isBootstrapped(status: Readonly<Record<string, unknown>> | undefined): boolean {
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
function wrongGroup(tree: RootTree, path: string, { gid }: FileStat): string | undefined {
  const ids = GROUP_FILES.map((file) => idIn(tree.readText(file) ?? '', STATUS_GROUP));
  const group = ids.find((id) => id !== undefined) ?? 0;
  return gid === 0 || gid === group ? undefined : `${path} belongs to group ${gid}`;
}

/** What is below a directory of root and is not root's, is a link, or is open to others without being meant for them. */
function openBelow(tree: RootTree, directory: string): readonly string[] {
  return tree.list(directory).flatMap((name) => {
    const path = `${directory}/${name}`;
    const stat = tree.lstat(path);
    if (stat === undefined) return [];
    const most = PUBLIC.includes(path) ? 0o044 : path === `${STATE_DIRECTORY}/status.json` ? 0o040 : 0;
    if (stat.uid !== 0 || stat.type === 'symlink') return [described(path, stat)];
    if (stat.type !== 'directory') return (stat.mode & 0o077 & ~most) === 0 ? [] : [described(path, stat)];
    // What is in a directory that others cannot enter is out of their reach.
    const own = (stat.mode & 0o022) === 0 ? [] : [described(path, stat)];
    return (stat.mode & 0o011) === 0 ? own : [...own, ...openBelow(tree, path)];
  });
}

function wrongMode(path: string, stat: FileStat, mode: number): string | undefined {
  const isRight = stat.type !== 'symlink' && (stat.mode & 0o7777) === mode && stat.uid === 0;
  return isRight ? undefined : described(path, stat);
}

function described(path: string, { type, mode, uid }: FileStat): string {
  if (type === 'symlink') return `${path} is a symbolic link`;
  return `${path} has the mode ${formatMode(mode)} and belongs to user ${uid}`;
}
