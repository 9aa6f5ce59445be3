import type { Argument, HostPathVolume, KubernetesModel } from '@machineadm/document/model/index.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { stringAt } from '@machineadm/document/values/untyped.ts';
import { apiServerComponent } from '@machineadm/kubeadm/api-server-component.ts';
import type { QueryHost } from '../../host/seam/host.ts';

/**
 * Arguments whose value is a file or directory that must be there when the component starts, and that nothing of Kubernetes makes:
 * the flags of k/k cmd/{kubelet,kube-apiserver,kube-controller-manager,kube-scheduler}/app/options.
 */
const FILE_ARGUMENTS: ReadonlySet<string> = new Set([
  'admission-control-config-file',
  'audit-policy-file',
  'audit-webhook-config-file',
  'authentication-config',
  'authentication-token-webhook-config-file',
  'authorization-config',
  'authorization-policy-file',
  'authorization-webhook-config-file',
  'client-ca-file',
  'cloud-config',
  'egress-selector-config-file',
  'encryption-provider-config',
  'image-credential-provider-bin-dir',
  'image-credential-provider-config',
  'oidc-ca-file',
  'pod-manifest-path',
  'resolv-conf',
  'tls-cert-file',
  'tls-private-key-file',
  'token-auth-file',
  'tracing-config-file',
]);
/** The same in the configuration of the kubelet, by their paths in it. */
const FILE_FIELDS = [
  ['resolvConf'],
  ['tlsCertFile'],
  ['tlsPrivateKeyFile'],
  ['staticPodPath'],
  ['authentication', 'x509', 'clientCAFile'],
] as const;

/** What kubeadm makes, and mounts (k/k cmd/kubeadm/app/phases/controlplane/volumes.go). */
const MADE =
  /^\/etc\/kubernetes\/(?:manifests\/?$|[\w-]+\.conf$|pki\/(?:(?:etcd\/)?(?:ca|server|peer|healthcheck-client|apiserver|apiserver-(?:etcd|kubelet)-client|front-proxy-(?:ca|client))\.(?:crt|key)|sa\.(?:pub|key))$)|^\/(?:etc\/ssl\/certs|etc\/pki|etc\/ca-certificates|usr\/(?:local\/)?share\/ca-certificates)\//;

export interface MissingArgumentFile {
  readonly reason: Extract<Reason, 'ComponentFileMissing' | 'ResolvConfMissing'>;
  readonly field: string;
  readonly what: string;
  readonly remedy: string;
}

/**
 * Files that arguments of the kubelet, and of the control plane that this machine starts, name and that are neither there nor
 * written by the document.
 * @param isProvided whether the document brings what is at a path of this machine
 */
export async function missingArgumentFiles(
  host: Pick<QueryHost, 'stat'>,
  { role, node, controlPlane }: KubernetesModel,
  isProvided: (path: string) => boolean,
): Promise<readonly MissingArgumentFile[]> {
  const components: readonly (readonly [string, readonly Argument[], readonly HostPathVolume[] | undefined])[] = [
    ['kubernetes.node.kubelet', node.kubelet.args, undefined],
    ...(role === 'InitControlPlane'
      ? ([
          [
            'kubernetes.controlPlane.apiServer',
            controlPlane.apiServer.args,
            apiServerComponent(controlPlane.apiServer).volumes,
          ],
          [
            'kubernetes.controlPlane.controllerManager',
            controlPlane.controllerManager.args,
            controlPlane.controllerManager.volumes,
          ],
          ['kubernetes.controlPlane.scheduler', controlPlane.scheduler.args, controlPlane.scheduler.volumes],
        ] as const)
      : []),
  ];
  const missing: MissingArgumentFile[] = [];
  for (const path of FILE_FIELDS) {
    const value = stringAt(node.kubelet.config, ...path);
    if (value?.startsWith('/') !== true || MADE.test(value) || isProvided(value)) continue;
    if ((await host.stat(value)) !== undefined) continue;
    const field = `kubernetes.node.kubelet.config.${path.join('.')}`;
    const remedy = `Write it with host.files or a hook, or correct ${field}.`;
    const reason = path[0] === 'resolvConf' ? 'ResolvConfMissing' : 'ComponentFileMissing';
    missing.push({
      reason,
      field,
      what: `${field}: ${value} does not exist, and the document does not write it`,
      remedy,
    });
  }
  for (const [component, args, volumes] of components) {
    for (const { name, value } of args) {
      if (!FILE_ARGUMENTS.has(name) || !value.startsWith('/') || MADE.test(value)) continue;
      const field = `${component}.args`;
      const path = volumes === undefined ? value : pathOnMachine(value, volumes);
      if (path === undefined) {
        const remedy = `Mount it: add it to ${component}.volumes.`;
        const reason = 'ComponentFileMissing';
        missing.push({
          reason,
          field,
          what: `${field}: ${name} names ${value}, which no volume of the component has`,
          remedy,
        });
      } else if (!isProvided(path) && (await host.stat(path)) === undefined) {
        const remedy = `Write it with host.files or a hook, or correct ${name} in ${field}.`;
        missing.push({
          reason: name === 'resolv-conf' ? 'ResolvConfMissing' : 'ComponentFileMissing',
          field,
          what: `${field}: ${name} names ${path}, which does not exist and which the document does not write`,
          remedy,
        });
      }
    }
  }
  return missing;
}

/** The path on the machine of a path in a component's container; undefined if no volume contains it. */
function pathOnMachine(path: string, volumes: readonly HostPathVolume[]): string | undefined {
  const within = volumes.filter(
    ({ mountPath }) => path === mountPath || path.startsWith(`${mountPath.replace(/\/$/, '')}/`),
  );
  const closest = within.toSorted((a, b) => b.mountPath.length - a.mountPath.length)[0];
  return closest === undefined ? undefined : closest.hostPath + path.slice(closest.mountPath.length);
}
