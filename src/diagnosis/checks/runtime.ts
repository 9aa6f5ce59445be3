import { newerContainerd } from '@machineadm/document/kubernetes-releases/containerd.ts';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { parseVersion, type Version } from '@machineadm/document/text/program-version.ts';
import { runtimeService } from '../../host/linux/runtime-sockets.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { Finding } from './finding.ts';

/**
 * Checks the container runtime behind a socket (`unix:///run/containerd/containerd.sock`) over CRI, and which of the
 * wanted images it has. `willBeConfigured`: the document configures containerd, so what is missing now means little.
 * `kubelet`: the one that is installed.
 */
export async function checkRuntime(
  host: QueryHost,
  socket: string,
  wantedImages: readonly string[],
  willBeConfigured: boolean,
  kubelet: Version | undefined,
): Promise<readonly Finding[]> {
  const base = { title: 'container runtime' } as const;
  const name = runtimeService(socket);
  const service = await host.service(name);
  if (!service.active) {
    return [
      {
        ...base,
        id: 'runtime/service',
        severity: willBeConfigured && service.exists ? 'warning' : 'failed',
        reason: service.exists ? 'ContainerRuntimeNotRunning' : 'ContainerRuntimeMissing',
        text: service.exists ? `${name} does not run (${service.detail})` : `${name} is not installed`,
        remedy: service.exists
          ? `Read \`journalctl -u ${name}\`${willBeConfigured ? '; provision restarts it once it is configured' : ''}.`
          : 'Install containerd 1.6 or newer with its service and runc (the packages of the distribution will do), or CRI-O.',
      },
    ];
  }
  try {
    const { runtimeName, runtimeVersion } = await host.cri(socket).version();
    const conditions = await host.cri(socket).status();
    const broken = conditions.filter(({ type, status }) => type === 'RuntimeReady' && !status);
    if (broken.length > 0) {
      const why = broken.map(({ reason, message }) => `${reason} ${message}`).join('; ');
      return [
        {
          ...base,
          id: 'runtime/cri',
          severity: 'failed',
          reason: 'ContainerRuntimeNotReady',
          text: `the container runtime is not ready: ${why}`,
          remedy: `Read \`journalctl -u ${name}\`.`,
        },
      ];
    }
    return [
      { ...base, id: 'runtime/cri', severity: 'passed', text: `${runtimeName} ${runtimeVersion} answers on ${socket}` },
      ...checkRecommended(runtimeName, runtimeVersion, kubelet),
      ...(await checkImages(host, socket, wantedImages)),
    ];
  } catch (error) {
    return [
      {
        ...base,
        id: 'runtime/cri',
        severity: willBeConfigured ? 'warning' : 'failed',
        reason: 'ContainerRuntimeNotReady',
        text: `${name} runs but does not answer CRI calls on ${socket}: ${errorMessage(error)}`,
        remedy:
          name === 'containerd'
            ? 'Check disabled_plugins in /etc/containerd/config.toml, and the socket in kubernetes.node.criSocket.'
            : `Read \`journalctl -u ${name}\`, and check the socket in kubernetes.node.criSocket.`,
      },
    ];
  }
}

/** What containerd's maintainers recommend for the kubelet: an older one works as a rule, so that it is only a warning. */
function checkRecommended(name: string, version: string, kubelet: Version | undefined): readonly Finding[] {
  const found = name === 'containerd' ? parseVersion(version) : undefined;
  const wanted = found && kubelet && newerContainerd(found, kubelet);
  if (kubelet === undefined || wanted === undefined) return [];
  const text = `containerd ${version} is older than its maintainers recommend for Kubernetes 1.${kubelet.minor}, which is ${wanted}`;
  const remedy = `Install containerd ${wanted} or newer.`;
  const base = { id: 'runtime/version', title: 'container runtime', severity: 'warning' } as const;
  return [{ ...base, reason: 'ContainerRuntimeUnsupported', text, remedy }];
}

async function checkImages(host: QueryHost, socket: string, wanted: readonly string[]): Promise<readonly Finding[]> {
  if (wanted.length === 0) return [];
  const present = new Set((await host.cri(socket).images()).flatMap(({ tags, digests }) => [...tags, ...digests]));
  const missing = wanted.filter((image) => !present.has(image));
  const base = { id: 'runtime/images', title: 'container runtime' } as const;
  if (missing.length === 0) return [{ ...base, severity: 'passed', text: `all ${wanted.length} images are here` }];
  return [
    {
      ...base,
      severity: 'warning',
      reason: 'ImageMissing',
      text: `${missing.length} of ${wanted.length} images are not here yet: ${missing.join(', ')}`,
      remedy: 'They must come from images.archives or a registry that this machine reaches.',
    },
  ];
}
