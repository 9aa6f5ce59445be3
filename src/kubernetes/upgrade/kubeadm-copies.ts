import { UPGRADE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { listOf, object, optional, string } from '@machineadm/document/values/shape.ts';
import { checksummedJson, withChecksum } from '../../host/files/checksum.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';

/** Where kubeadm keeps copies of an upgrade (k/k cmd/kubeadm/app/constants/constants.go, TempDir). */
const KUBEADM_COPIES = '/etc/kubernetes/tmp';
/** Names of its upgrade (k/k cmd/kubeadm/app/phases/upgrade); a dry run has others. */
const OF_UPGRADE = /^kubeadm-(?:backup-etcd|backup-manifests|upgraded-manifests|kubelet-config|kubelet-env)/;
/** Which copies are ours: a kubeadm that was run by hand writes to the same place, under such names. */
const RECORD = `${UPGRADE_DIRECTORY}/kubeadm-copies.json`;

interface CopiesRecord {
  /** Of kubeadms that we ran, until they ended. */
  readonly ours: readonly string[];
  /** What was there of others before the kubeadm that we run now, or that was killed. */
  readonly before?: readonly string[] | undefined;
}

/** Before `kubeadm upgrade` is run. After a kill it may be called again. */
export async function beginCopies(host: Host): Promise<void> {
  const record = await readRecord(host);
  if (record.before !== undefined) return;
  const before = (await copies(host)).filter((name) => !record.ours.includes(name));
  await writeRecord(host, { ours: record.ours, before });
}

/** After it, however it ended. */
export async function endCopies(host: Host): Promise<void> {
  await writeRecord(host, { ours: await oursOf(host, await readRecord(host)) });
}

/**
 * What upgrades left on this machine, for a reset: the snapshot of etcd, which has every Secret of the cluster, and the
 * copies that kubeadm kept when we ran it.
 */
export async function upgradeRemains(host: QueryHost): Promise<readonly string[]> {
  if ((await host.stat(UPGRADE_DIRECTORY)) === undefined) return [];
  const ours = await oursOf(host, await readRecord(host));
  return [...ours.map((name) => `${KUBEADM_COPIES}/${name}`), UPGRADE_DIRECTORY];
}

async function oursOf(host: QueryHost, { ours, before }: CopiesRecord): Promise<readonly string[]> {
  const there = await copies(host);
  return there.filter((name) => ours.includes(name) || (before !== undefined && !before.includes(name)));
}

async function copies(host: QueryHost): Promise<readonly string[]> {
  return ((await host.list(KUBEADM_COPIES)) ?? []).filter((name) => OF_UPGRADE.test(name)).sort();
}

const isOfRecord = object({ ours: listOf(string), before: optional(listOf(string)) });

/** Without a record, or with a damaged one, no copy is known to be ours. */
async function readRecord(host: QueryHost): Promise<CopiesRecord> {
  const value = checksummedJson(await host.readText(RECORD));
  return isCopiesRecord(value) ? value : { ours: [] };
}

function isCopiesRecord(value: unknown): value is CopiesRecord {
  return isOfRecord(value);
}

async function writeRecord(host: Host, record: CopiesRecord): Promise<void> {
  await host.writeFile({
    path: RECORD,
    content: withChecksum(JSON.stringify(record)),
    mode: 0o600,
    directoryMode: 0o700,
  });
  await host.sync(RECORD);
}
