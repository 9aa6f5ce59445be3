import { errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { RUN_DIRECTORY, STATE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import type { SecretValue } from '@machineadm/document/secrets/secret.ts';
import { formatMode } from '@machineadm/document/text/units.ts';
import { FileError } from '../host/files/file-error.ts';
import type { FileStat, QueryHost } from '../host/seam/host.ts';
import { isSearchable, type ResidueForm, type SoughtSecret, searchBytes } from './residue-search.ts';

/** A file in which a tool left secrets of the document. It names them and never contains their values. */
export interface Residue {
  readonly path: string;
  readonly tool: string;
  /** Octal, as `0644`. */
  readonly mode: string;
  readonly uid: number;
  readonly gid: number;
  /** Whether every user, and every container with this path, can read it. */
  readonly worldReadable: boolean;
  readonly secrets: readonly string[];
  readonly forms: readonly ResidueForm[];
  /** Found: nothing was changed. Kept: secrets remain in it, and `why` says the reason. */
  readonly state: 'Found' | 'Scrubbed' | 'Kept';
  readonly why?: string;
}

export interface ResidueReport {
  readonly residues: readonly Residue[];
  /** The names of the secrets that were searched for. */
  readonly searched: readonly string[];
  /** Secrets that could not be searched for, and files that could not be read. */
  readonly skipped: readonly { readonly what: string; readonly why: string }[];
}

export interface ResidueOptions {
  /** Overwrites a file with content of the same length. Absent: nothing is changed. */
  readonly overwrite?: (path: string, present: Uint8Array, wanted: Uint8Array) => Promise<void>;
  readonly places?: readonly ResiduePlace[];
}

/** Larger files are logs of a machine that has run for long, not data of a first boot. */
const FILE_LIMIT_BYTES = 64 * 1024 * 1024;
const DEEPEST_DIRECTORY = 12;

/**
 * Searches the places where first-boot tools keep their input for the values of these secrets. Only `overwrite` changes
 * anything. Files that cannot be read are reported as skipped.
 */
export async function auditResidue(
  host: QueryHost,
  values: readonly SecretValue[],
  options: ResidueOptions = {},
): Promise<ResidueReport> {
  const skipped: { what: string; why: string }[] = [];
  const secrets = await soughtSecrets(host, values, skipped);
  const residues: Residue[] = [];
  for (const place of options.places ?? RESIDUE_PLACES) {
    for (const { path, stat } of await filesBelow(host, place.path, skipped)) {
      const residue =
        secrets.length === 0 ? undefined : await lookInto(host, place, path, stat, secrets, options, skipped);
      if (residue !== undefined) residues.push(residue);
    }
  }
  return { residues, searched: [...new Set(secrets.map(({ name }) => name))], skipped };
}

async function soughtSecrets(
  host: QueryHost,
  values: readonly SecretValue[],
  skipped: { what: string; why: string }[],
): Promise<readonly SoughtSecret[]> {
  const sought: SoughtSecret[] = [];
  for (const value of new Set(values)) {
    const skip = (why: string) => skipped.push({ what: `the secret ${value.name}`, why });
    try {
      const secret = await host.secret(value);
      if (secret === undefined) skip('resolving it has side effects, so it was not resolved');
      else if (!isSearchable(secret.reveal())) skip('it is too short to be distinguished from other text');
      else sought.push({ name: value.name, value: secret.reveal() });
    } catch (error) {
      if (!(error instanceof MachineadmError) || error.reason !== 'SecretUnavailable') throw error;
      skip(error.evidence[0]?.text ?? error.message);
    }
  }
  return sought;
}

async function filesBelow(
  host: QueryHost,
  path: string,
  skipped: { what: string; why: string }[],
  depth = 0,
): Promise<readonly { readonly path: string; readonly stat: FileStat }[]> {
  try {
    const stat = await host.stat(path);
    if (stat?.type === 'file') return [{ path, stat }];
    if (stat?.type !== 'directory' || depth === DEEPEST_DIRECTORY) return [];
    const below = [];
    for (const name of (await host.list(path)) ?? []) {
      below.push(...(await filesBelow(host, `${path}/${name}`, skipped, depth + 1)));
    }
    return below;
  } catch (error) {
    skipped.push({ what: path, why: whyOf(error) });
    return [];
  }
}

async function lookInto(
  host: QueryHost,
  place: ResiduePlace,
  path: string,
  stat: FileStat,
  secrets: readonly SoughtSecret[],
  options: ResidueOptions,
  skipped: { what: string; why: string }[],
): Promise<Residue | undefined> {
  if (stat.size > FILE_LIMIT_BYTES) {
    skipped.push({ what: path, why: 'it is larger than 64 MiB' });
    return undefined;
  }
  let present: Uint8Array | undefined;
  try {
    present = await host.readFile(path);
  } catch (error) {
    skipped.push({ what: path, why: whyOf(error) });
    return undefined;
  }
  const { findings, scrubbed, left } = searchBytes(present ?? new Uint8Array(), secrets);
  if (present === undefined || scrubbed === undefined) return undefined;
  const found = {
    path,
    tool: place.tool,
    mode: formatMode(stat.mode),
    uid: stat.uid,
    gid: stat.gid,
    worldReadable: (stat.mode & 0o004) !== 0,
    secrets: [...new Set(findings.map(({ name }) => name))],
    forms: [...new Set(findings.map(({ form }) => form))],
  };
  if (options.overwrite === undefined)
    return { ...found, state: 'Found', ...(place.keep === undefined ? {} : { why: place.keep }) };
  if (place.keep !== undefined) return { ...found, state: 'Kept', why: place.keep };
  try {
    await options.overwrite(path, present, scrubbed);
  } catch (error) {
    return { ...found, state: 'Kept', why: whyOf(error) };
  }
  if (left.length === 0) return { ...found, state: 'Scrubbed' };
  return {
    ...found,
    state: 'Kept',
    why: `${left.join(', ')} is packed so that it cannot be overwritten: remove the file`,
  };
}

function whyOf(error: unknown): string {
  if (error instanceof FileError) return error.evidence[0]?.text ?? error.message;
  return errorMessage(error);
}

/** A place where a tool that runs before or beside machineadm keeps the data it was given. */
interface ResiduePlace {
  /** A file, or a directory with everything below it. Symbolic links are not followed. */
  readonly path: string;
  readonly tool: string;
  /** Why values there are not overwritten, and what to do instead. undefined: they can be overwritten. */
  readonly keep?: string;
}

const WIPED_BY_US = 'a successful run removes it; remove it with "rm"';
const JOURNAL = 'its entries carry hashes: drop them with "journalctl --rotate --vacuum-time=1s"';

/**
 * cloud-init: cloudinit/helpers.py (Paths: cloud_dir, run_dir and the names below an instance) and its default log files
 * (config/cloud.cfg.d/05_logging.cfg). Ignition: docs/operator-notes.md, internal/exec/engine.go (config cache),
 * dracut/30ignition. Machine configurations of OpenShift keep Ignition's. waagent: azurelinuxagent/common/conf.py
 * (Lib.Dir). curtin and subiquity log below /var/log/installer; Anaconda writes its kickstart to /root.
 */
const RESIDUE_PLACES: readonly ResiduePlace[] = [
  { path: '/var/lib/cloud', tool: 'cloud-init' },
  { path: '/run/cloud-init', tool: 'cloud-init' },
  { path: '/var/log/cloud-init.log', tool: 'cloud-init' },
  { path: '/var/log/cloud-init-output.log', tool: 'cloud-init' },
  { path: '/etc/cloud/cloud.cfg.d', tool: 'cloud-init' },
  { path: '/run/ignition.json', tool: 'Ignition' },
  { path: '/run/ignition', tool: 'Ignition' },
  { path: '/boot/ignition', tool: 'Ignition' },
  { path: '/usr/lib/ignition', tool: 'Ignition' },
  { path: '/usr/share/oem', tool: 'Ignition (Flatcar)' },
  { path: '/oem', tool: 'Ignition (Flatcar)' },
  { path: '/var/lib/flatcar-install', tool: 'coreos-cloudinit' },
  { path: '/var/lib/coreos-install', tool: 'coreos-cloudinit' },
  { path: '/etc/ignition-machine-config-encapsulated.json', tool: 'Ignition (machine-config)' },
  { path: '/run/metadata', tool: 'afterburn' },
  { path: '/var/lib/waagent', tool: 'waagent' },
  { path: '/var/log/waagent.log', tool: 'waagent' },
  { path: '/var/log/installer', tool: 'the installer' },
  { path: '/var/log/anaconda', tool: 'the installer' },
  { path: '/root/anaconda-ks.cfg', tool: 'the installer' },
  { path: '/run/kubeadm', tool: 'machineadm', keep: WIPED_BY_US },
  { path: RUN_DIRECTORY, tool: 'machineadm', keep: 'report it: machineadm must leave no secret here' },
  { path: STATE_DIRECTORY, tool: 'machineadm', keep: 'report it: machineadm must leave no secret here' },
  { path: '/etc/machineadm', tool: 'machineadm', keep: 'a later run reads it; remove it when none is wanted' },
  { path: '/var/log/syslog', tool: 'the system log' },
  { path: '/var/log/messages', tool: 'the system log' },
  { path: '/var/log/journal', tool: 'journald', keep: JOURNAL },
  { path: '/run/log/journal', tool: 'journald', keep: JOURNAL },
];
