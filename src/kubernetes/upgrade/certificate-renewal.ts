import { evidenceFrom, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { KUBEADM_PODS, type KubeadmPod } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { UPGRADE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { isRecord, listOf, object, string } from '@machineadm/document/values/shape.ts';
import { readManifest } from '@machineadm/kubeadm/api-server/manifest.ts';
import { evaluateUpgrade, type OutputLine } from '@machineadm/kubeadm/output.ts';
import { describeKill, killOf } from '../../host/commands/killed.ts';
import { checksummedJson, withChecksum } from '../../host/files/checksum.ts';
import { type KeptFile, keepFiles, parseKeptFiles, restoreFiles } from '../../host/files/kept-files.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { processesOf } from '../api-server/processes.ts';
import { certificateOf, isSignedBy, type ManagedCertificate } from './certificates.ts';
import { manifestPath } from './kept-state.ts';

/** Beside what else an upgrade keeps. It has keys, and root alone can read it. */
const RECORD = `${UPGRADE_DIRECTORY}/certificates.json`;
const MOST_LINES = 1_000;

/** A renewal that was begun: what the node had before. */
export interface Renewal {
  /** Of the certificates, as kubeadm names them. */
  readonly names: readonly string[];
  /** The certificates, their keys, and the manifests of the static pods that hold them, in the order of a way back. */
  readonly files: readonly KeptFile[];
  /** Processes of these static pods that ran before the last certificate was renewed, as `pid:start`. */
  readonly processes: readonly string[];
}

/** The static pods that keep one of these certificates in memory, in the order of their dependencies. */
export function holdersOf(certificates: readonly Pick<ManagedCertificate, 'holder'>[]): readonly KubeadmPod[] {
  return KUBEADM_PODS.filter((component) => certificates.some(({ holder }) => holder === component));
}

/** Keeps the certificates as they are, before any of them is renewed. Durable when it returns. */
export async function beginRenewal(host: Host, certificates: readonly ManagedCertificate[]): Promise<Renewal> {
  const holders = holdersOf(certificates);
  const paths = certificates.flatMap(({ path, keyPath }) => (keyPath === undefined ? [path] : [keyPath, path]));
  const renewal: Renewal = {
    names: certificates.map(({ name }) => name),
    files: await keepFiles(host, [...paths, ...holders.map(manifestPath)]),
    processes: await processesOfAll(host, holders),
  };
  await keep(host, renewal);
  return renewal;
}

async function keep(host: Host, renewal: Renewal): Promise<void> {
  const content = withChecksum(JSON.stringify(renewal));
  await host.writeFile({ path: RECORD, content, mode: 0o600, directoryMode: 0o700 });
  await host.sync(UPGRADE_DIRECTORY);
}

async function processesOfAll(host: QueryHost, components: readonly KubeadmPod[]): Promise<readonly string[]> {
  const processes: string[] = [];
  for (const component of components) processes.push(...(await podProcesses(host, component)));
  return processes;
}

/** The processes of a static pod, by its manifest. */
export async function podProcesses(host: QueryHost, component: KubeadmPod): Promise<readonly string[]> {
  const manifest = await readManifest((await host.readText(manifestPath(component))) ?? '');
  return manifest === undefined ? [] : await processesOf(host, manifest.command);
}

const isRenewal = object({ names: listOf(string), processes: listOf(string) });

/** The renewal that was begun; undefined: none. Throws `HostStepFailed` where its record is damaged. */
export async function readRenewal(host: QueryHost): Promise<Renewal | undefined> {
  const source = await host.readText(RECORD);
  if (source === undefined) return undefined;
  const value = checksummedJson(source);
  const files = isRecord(value) ? parseKeptFiles(value.files) : undefined;
  if (files !== undefined && hasNames(value)) return { names: value.names, processes: value.processes, files };
  throw new MachineadmError({
    reason: 'HostStepFailed',
    summary: `${RECORD}, which has the certificates of this node before their renewal, is damaged.`,
    remedy:
      'Check the certificates with kubeadm certs check-expiration, remove the file, and run machineadm upgrade again.',
  });
}

function hasNames(value: unknown): value is Pick<Renewal, 'names' | 'processes'> {
  return isRenewal(value);
}

/** Removes the certificates and keys that were kept. */
export async function forgetRenewal(host: Host): Promise<void> {
  await host.removeFile(RECORD);
}

/** Puts back the certificates, and then the manifests, with which the kubelet restarts pods that hold newer ones. */
export async function restoreCertificates(host: Host, { files }: Renewal): Promise<void> {
  await restoreFiles(host, await changedFiles(host, files));
  await host.sync('/etc/kubernetes');
}

async function changedFiles(host: QueryHost, files: readonly KeptFile[]): Promise<readonly KeptFile[]> {
  const changed: KeptFile[] = [];
  for (const file of files) if ((await host.readText(file.path)) !== file.content) changed.push(file);
  return changed;
}

/**
 * Lets kubeadm renew these certificates, one after the other, and checks each. One that an earlier run has renewed stays; one
 * that kubeadm was just writing when it was killed is first put back.
 *
 * @param until milliseconds since the epoch, beyond which all must be valid
 * @returns the renewal with all processes that may hold previous certificates
 * @throws MachineadmError `CertificatesNotRenewed`
 */
export async function renewCertificates(
  host: Host,
  certificates: readonly ManagedCertificate[],
  renewal: Renewal,
  {
    directory,
    until,
    signal,
    line,
  }: {
    readonly directory: string;
    readonly until: number;
    readonly signal: AbortSignal;
    readonly line: (text: string) => void;
  },
): Promise<Renewal> {
  const left: ManagedCertificate[] = [];
  for (const one of certificates) {
    if ((await whyNotRenewed(host, one, renewal, until)) !== undefined) left.push(one);
  }
  // The machine may have been rebooted since it was begun.
  const processes = new Set([...renewal.processes, ...(await processesOfAll(host, holdersOf(left)))]);
  const extended: Renewal = { ...renewal, processes: [...processes] };
  if (processes.size > renewal.processes.length) await keep(host, extended);
  for (const one of left) {
    const paths = [one.keyPath, one.path];
    await restoreFiles(
      host,
      await changedFiles(
        host,
        renewal.files.filter(({ path }) => paths.includes(path)),
      ),
    );
    await runRenew(host, one, directory, signal, line);
    const why = await whyNotRenewed(host, one, renewal, until);
    if (why !== undefined) throw notRenewed(`kubeadm certs renew ${one.name} exited with status 0, but ${why}`, []);
  }
  await host.sync('/etc/kubernetes');
  return extended;
}

/** undefined: the certificate is a new one, belongs to its key and authority, and is valid for long enough. */
async function whyNotRenewed(
  host: QueryHost,
  one: ManagedCertificate,
  { files }: Renewal,
  until: number,
): Promise<string | undefined> {
  const before = files.find(({ path }) => path === one.path)?.content;
  if ((await host.readText(one.path)) === before) return `${one.path} is as before`;
  const found = await certificateOf(host, one);
  if (found === undefined) return `${one.path} holds no certificate`;
  if (!found.hasKey) return `its key does not belong to the certificate in ${one.path}`;
  if (!(await isSignedBy(host, found.certificate, one.authorityPath)))
    return `${one.authorityPath} has not signed the certificate in ${one.path}`;
  const { validToDate } = found.certificate;
  return validToDate.getTime() > until
    ? undefined
    : `the new certificate in ${one.path} is valid until ${validToDate.toISOString()} only, within kubernetes.controlPlane.certificates.renewBefore`;
}

async function runRenew(
  host: Host,
  { name }: ManagedCertificate,
  directory: string,
  signal: AbortSignal,
  line: (text: string) => void,
): Promise<void> {
  const lines: OutputLine[] = [];
  const command = `certs renew ${name}`;
  try {
    const { status } = await host.run({
      program: 'kubeadm',
      // The directory counts where the cluster does not answer: kubeadm reads it there otherwise.
      args: ['certs', 'renew', name, `--cert-dir=${directory}`],
      signal,
      supervised: true,
      onLine: (stream, text) => {
        lines.push({ stream, text });
        if (lines.length > MOST_LINES) lines.shift();
        line(text);
      },
    });
    const verdict = evaluateUpgrade(command, status, lines);
    if (!verdict.succeeded) throw notRenewed(verdict.summary.replace(/\.$/, ''), verdict.evidence);
  } catch (error) {
    const kill = killOf(error);
    if (kill === undefined) throw error;
    const last = lines.slice(-5).map(({ text }) => text);
    throw notRenewed(`kubeadm ${command} ${describeKill(kill)}`, evidenceFrom('kubeadm', last));
  }
}

/** @param why without a full stop */
export function notRenewed(why: string, evidence: MachineadmError['evidence']): MachineadmError {
  return new MachineadmError({
    reason: 'CertificatesNotRenewed',
    summary: `The certificates were not renewed: ${why}.`,
    remedy: 'Correct the cause, then run machineadm upgrade again.',
    evidence,
    retryable: true,
  });
}
