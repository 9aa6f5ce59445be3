import { X509Certificate } from 'node:crypto';
import type { QueryHost } from '../../host/seam/host.ts';
import type { BundleFile } from './archive.ts';
import { cleanse, type Kind } from './cleanse.ts';

/** The limit for one file. Of a longer log the end is kept, of a longer configuration the beginning. */
const MOST_BYTES = 1024 * 1024;
const JOURNAL_LINES = '4000';
const LIMIT_MS = 10_000;

/** The configurations that are collected, with their kinds. Keys and files of Secrets are never among them. */
const CONFIGURATIONS: Readonly<Record<string, Kind>> = {
  '/etc/containerd/config.toml': 'containerd',
  '/etc/default/kubelet': 'text',
  '/etc/sysconfig/kubelet': 'text',
  '/etc/hosts': 'text',
  '/etc/resolv.conf': 'text',
  '/etc/os-release': 'text',
  '/var/lib/kubelet/config.yaml': 'text',
  '/var/lib/kubelet/kubeadm-flags.env': 'text',
  '/etc/kubernetes/admin.conf': 'kubeconfig',
  '/etc/kubernetes/kubelet.conf': 'kubeconfig',
  '/etc/kubernetes/bootstrap-kubelet.conf': 'kubeconfig',
  '/etc/kubernetes/controller-manager.conf': 'kubeconfig',
  '/etc/kubernetes/scheduler.conf': 'kubeconfig',
  '/proc/meminfo': 'text',
  '/proc/swaps': 'text',
  '/proc/loadavg': 'text',
  '/proc/cmdline': 'text',
  '/proc/net/route': 'text',
};

const UNITS = ['kubelet.service', 'containerd.service', 'crio.service', 'machineadm.service'];
const CERTIFICATE_DIRECTORIES = ['/etc/kubernetes/pki', '/etc/kubernetes/pki/etcd'];

/**
 * Collects files of the machine, without secrets and limited in size. Missing files are left out. Uses queries only.
 */
export async function gatherFiles(host: QueryHost): Promise<readonly BundleFile[]> {
  const parts = await Promise.all([
    ...Object.entries(CONFIGURATIONS).map(([path, kind]) => configuration(host, path, kind)),
    manifests(host),
    certificates(host),
    ...UNITS.map((unit) => journal(host, `logs/${unit}.log`, ['-u', unit])),
    journal(host, 'logs/machineadm.log', ['-t', 'machineadm', '_UID=0']),
    journal(host, 'logs/kernel.log', ['-k']),
    log(host, '/var/log/cloud-init-output.log'),
    podLogs(host),
  ]);
  return parts.flat();
}

async function configuration(host: QueryHost, path: string, kind: Kind): Promise<readonly BundleFile[]> {
  const bytes = await host.readRange(path, 0, MOST_BYTES).catch(() => undefined);
  // Files in /proc report no size, so they cannot be read by range.
  const text = bytes === undefined ? undefined : bytes.length > 0 ? decode(bytes) : await host.readText(path);
  return text === undefined ? [] : [{ path: `files${path}`, content: cleanse(text, kind) }];
}

async function manifests(host: QueryHost): Promise<readonly BundleFile[]> {
  const directory = '/etc/kubernetes/manifests';
  // All names that the kubelet reads as manifests (k/k pkg/kubelet/config/file.go).
  const names = ((await host.list(directory)) ?? []).filter((name) => !name.startsWith('.'));
  return (await Promise.all(names.map((name) => configuration(host, `${directory}/${name}`, 'manifest')))).flat();
}

/** The readable fields of each certificate. Keys are not opened, and no PEM text is kept. */
async function certificates(host: QueryHost): Promise<readonly BundleFile[]> {
  const lines: string[] = [];
  for (const directory of CERTIFICATE_DIRECTORIES) {
    for (const name of ((await host.list(directory)) ?? []).filter((entry) => entry.endsWith('.crt'))) {
      lines.push(`${directory}/${name}: ${describe((await host.readText(`${directory}/${name}`)) ?? '')}`);
    }
  }
  return lines.length === 0 ? [] : [{ path: 'certificates.txt', content: `${lines.join('\n')}\n` }];
}

function describe(pem: string): string {
  try {
    const { subject, issuer, validFrom, validTo, subjectAltName, fingerprint256 } = new X509Certificate(pem);
    return JSON.stringify({ subject, issuer, validFrom, validTo, subjectAltName, fingerprint256 });
  } catch {
    return 'not a certificate';
  }
}

async function journal(host: QueryHost, path: string, selection: readonly string[]): Promise<readonly BundleFile[]> {
  const args = ['-o', 'short-iso', '-a', '-q', '--no-pager', '-n', JOURNAL_LINES, ...selection];
  const { stdout } = await host.query({ program: 'journalctl', args, timeoutMs: LIMIT_MS });
  return stdout === '' ? [] : [{ path, content: cleanse(lastPart(stdout)) }];
}

async function log(host: QueryHost, path: string): Promise<readonly BundleFile[]> {
  const size = (await host.stat(path))?.size ?? 0;
  const bytes = await host.readRange(path, Math.max(0, size - MOST_BYTES), MOST_BYTES);
  return bytes === undefined ? [] : [{ path: `logs${path.slice('/var/log'.length)}`, content: cleanse(decode(bytes)) }];
}

const POD_LOGS = '/var/log/pods';
const MOST_POD_LOG_BYTES = 64 * 1024;
/** Only logs of the control plane's static pods: other pods may log anything. */
const COMPONENT = /^kube-system_(etcd|kube-apiserver|kube-controller-manager|kube-scheduler)-/;

async function podLogs(host: QueryHost): Promise<readonly BundleFile[]> {
  const files: BundleFile[] = [];
  for (const pod of ((await host.list(POD_LOGS)) ?? []).filter((name) => COMPONENT.test(name))) {
    const component = COMPONENT.exec(pod)?.[1] ?? '';
    for (const name of ((await host.list(`${POD_LOGS}/${pod}/${component}`)) ?? []).slice(-2)) {
      const path = `${POD_LOGS}/${pod}/${component}/${name}`;
      const size = (await host.stat(path))?.size ?? 0;
      const bytes = await host.readRange(path, Math.max(0, size - MOST_POD_LOG_BYTES), MOST_POD_LOG_BYTES);
      if (bytes !== undefined) {
        files.push({ path: `logs/pods/${component}-${files.length}.log`, content: cleanse(decode(bytes)) });
      }
    }
  }
  return files;
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function lastPart(text: string): string {
  return text.length <= MOST_BYTES ? text : text.slice(text.indexOf('\n', text.length - MOST_BYTES) + 1);
}
