import { errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { CLOUD_INIT_HOSTNAME_FILE, HOSTNAME_FILE } from '@machineadm/document/ownership/paths.ts';
import type { Host } from '../../host/seam/host.ts';
import { isAsWritten, readOwnFile } from '../../owned-files/difference.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Change, Execution } from '../../step/index.ts';

/** The running ("transient") name; hostnamectl, hostname(1) and uname(2) all end here. */
const RUNNING_NAME = '/proc/sys/kernel/hostname';
/**
 * cloud-init's set_hostname and update_hostname modules run at every boot and put the metadata's name back unless this
 * is set (cloudinit/config/cc_set_hostname.py, cc_update_hostname.py).
 */
const CLOUD_INIT_CONTENT =
  '# Written by machineadm: the host name is managed by its document.\npreserve_hostname: true\n';

export interface HostnameDesired {
  readonly name: string;
}

export interface HostnameActual {
  readonly configured: string | undefined;
  /** The attributes of the file. Of a link, which may be a distribution's own, only the content counts. */
  readonly attributes: string | undefined;
  readonly running: string | undefined;
  readonly cloudInit: 'absent' | 'preserves' | 'overwrites';
}

export type HostnamePayload = HostnameDesired & { readonly part: 'file' | 'running' | 'cloud-init' };

/** The name of the machine: now, at the next boot, and safe from cloud-init. Always the instance's own (`node`). */
export const hostname: FeatureStep<HostnameDesired, HostnameActual, HostnamePayload> = {
  id: 'hostname',
  section: 'host.hostname',
  stays: ({ host }, { resources }) =>
    host.hostname === undefined && resources.length > 0
      ? [['hostname', 'the host name stays: certificates, logs and the cluster use it']]
      : [],
  isRequested: STAYS,

  desired(model) {
    const name = model.host.hostname;
    return name === undefined ? undefined : { name };
  },

  async inspect(host) {
    const cloudInit = await host.stat('/etc/cloud');
    const { text, attributes } = await readOwnFile(host, HOSTNAME_FILE);
    return {
      configured: configuredName(text),
      attributes: (await host.stat(HOSTNAME_FILE))?.type === 'file' ? attributes : undefined,
      running: (await host.readText(RUNNING_NAME))?.trim(),
      cloudInit:
        cloudInit?.type !== 'directory'
          ? 'absent'
          : isAsWritten(await readOwnFile(host, CLOUD_INIT_HOSTNAME_FILE), CLOUD_INIT_CONTENT)
            ? 'preserves'
            : 'overwrites',
    };
  },

  plan(desired, actual) {
    const changes: Change<HostnamePayload>[] = [];
    const add = (part: HostnamePayload['part'], summary: string): void => {
      changes.push({
        id: `hostname/${part}`,
        summary,
        scope: 'node',
        ineffective: 'HostnameNotEffective',
        payload: { ...desired, part },
      });
    };
    if (actual.configured !== desired.name) {
      add('file', `${HOSTNAME_FILE}: ${actual.configured ?? 'none'} -> ${desired.name}`);
    } else if (actual.attributes !== undefined) {
      add('file', `${HOSTNAME_FILE}: ${actual.attributes}`);
    }
    if (actual.cloudInit === 'overwrites')
      add('cloud-init', `keep cloud-init from changing it (${CLOUD_INIT_HOSTNAME_FILE})`);
    if (actual.running !== desired.name) add('running', `running name: ${actual.running ?? 'none'} -> ${desired.name}`);
    return changes;
  },

  async apply(host, change, execution) {
    const { part, name } = change.payload;
    if (part === 'file') {
      await host.writeFile({ path: HOSTNAME_FILE, content: `${name}\n`, mode: 0o644 });
    } else if (part === 'cloud-init') {
      await host.writeFile({ path: CLOUD_INIT_HOSTNAME_FILE, content: CLOUD_INIT_CONTENT, mode: 0o644 });
    } else {
      await setRunningName(host, name, execution);
    }
  },

  settled: async (host) => await host.sync('/etc'),
};

/** The first line of hostname(5) that is not a comment. */
function configuredName(text: string | undefined): string | undefined {
  return text
    ?.split('\n')
    .map((line) => line.trim())
    .find((line) => line !== '' && !line.startsWith('#'));
}

/**
 * hostnamectl first, so that systemd-hostnamed tells those who listen (NetworkManager) of it; the kernel directly where
 * there is no systemd or no bus yet (early boot), or where hostnamed prefers a name of its own.
 */
async function setRunningName(host: Host, name: string, execution: Execution): Promise<void> {
  if ((await host.which('hostnamectl')) !== undefined) {
    const args = ['--no-ask-password', 'set-hostname', name];
    const changes = [`kernel:${RUNNING_NAME}`, `path:${HOSTNAME_FILE}`] as const;
    await host.run({ program: 'hostnamectl', args, timeoutMs: 30_000, signal: execution.signal, changes });
    if ((await host.readText(RUNNING_NAME))?.trim() === name) return;
  }
  try {
    await host.writeKernelFile(RUNNING_NAME, name);
  } catch (error) {
    throw notEffective(name, errorMessage(error), error);
  }
  const now = (await host.readText(RUNNING_NAME))?.trim() ?? '';
  if (now !== name) throw notEffective(name, now);
}

function notEffective(name: string, text: string, cause?: unknown): MachineadmError {
  return new MachineadmError({
    reason: 'HostnameNotEffective',
    summary: `The host name could not be set to ${name}.`,
    remedy:
      'Check that the name is at most 64 characters and, in a container, that it has its own host name (UTS namespace).',
    evidence: [{ source: RUNNING_NAME, text }],
    cause,
  });
}
