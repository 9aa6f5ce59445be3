import { EXAMPLE_CERTIFICATE } from '../../fields/certificates.ts';
import { exclusive } from '../../fields/conditions.ts';
import type { ResolveSecret } from '../../fields/convert-values.ts';
import { choice, field, object } from '../../fields/field.ts';
import * as z from '../../schema/zod.ts';
import { type AddonsModel, addons, toAddons } from './addons.ts';
import { type ClusterModel, cluster, toCluster } from './cluster.ts';
import { kubernetesConditions } from './conditions.ts';
import { type ControlPlaneModel, controlPlane, toControlPlane } from './control-plane.ts';
import { type ExecModel, exec, toExec } from './exec.ts';
import { type JoinModel, join, toJoin } from './join.ts';
import { extraConfiguration, type KubeadmModel, kubeadm, toKubeadm } from './kubeadm.ts';
import { type NodeModel, node, toNode } from './node.ts';
import { type PkiModel, pki, toPki } from './pki.ts';
import { type ReadyModel, ready, type TimeoutsModel, timeouts, toReady, toTimeouts } from './timeouts.ts';

export type Role = KubernetesSection['role'];

export interface KubernetesModel {
  /** Exact, with the leading v: `v1.35.2`. */
  readonly version: string;
  readonly role: Role;
  readonly kubeadm: KubeadmModel;
  /** Set: this program bootstraps the node, and kubeadm is not used. */
  readonly exec: ExecModel | undefined;
  readonly cluster: ClusterModel;
  readonly pki: PkiModel;
  readonly controlPlane: ControlPlaneModel;
  readonly node: NodeModel;
  readonly join: JoinModel | undefined;
  readonly addons: AddonsModel;
  readonly timeouts: TimeoutsModel;
  readonly ready: ReadyModel;
}

/** What turns the prepared host into a node. */
const bootstrapper = object(
  {
    kubeadm: field(kubeadm, 'Settings of kubeadm. Excludes exec.', {
      absent: 'the defaults of kubeadm',
      example: { skipPhases: ['addon/kube-proxy'] },
    }),
    exec: field(exec, 'A program that takes the place of kubeadm. Excludes kubeadm.', {
      absent: 'kubeadm',
      example: { command: '/usr/local/bin/bootstrap-k0s' },
    }),
  },
  () => [exclusive('kubeadm', 'exec')],
);

export const kubernetes = object(
  {
    version: field(
      z
        .string()
        .regex(/^v\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/, 'not an exact version, such as "v1.35.2"'),
      'The exact Kubernetes version. kubeadm on the machine must have the same minor version; nothing is downloaded.',
      {
        example: 'v1.35.2',
        changes: 'nothing; it is compared with the installed programs and written into the configuration of kubeadm',
      },
    ),
    role: field(
      choice({
        InitControlPlane: 'Creates a cluster.',
        JoinControlPlane: 'Adds a control plane machine to a cluster.',
        Worker: 'Adds any other machine to a cluster.',
      }),
      'InitControlPlane creates a cluster, JoinControlPlane adds a control plane machine to one, Worker adds any other machine.',
      { example: 'Worker', changes: 'whether `kubeadm init` or `kubeadm join` runs' },
    ),
    bootstrapper: field(bootstrapper, 'The program that bootstraps the node.', {
      absent: 'kubeadm with its defaults',
      example: { kubeadm: { verbosity: 2 } },
      changes: 'how the bootstrapper is run',
    }),
    cluster: field(
      cluster,
      'Settings of the cluster. They matter when it is created; a machine that joins reads them from the cluster.',
      {
        absent: 'the defaults of kubeadm',
        example: { name: 'prod-a', controlPlaneEndpoint: 'api.prod-a.example:6443', podSubnets: ['10.244.0.0/16'] },
        changes: 'the ClusterConfiguration, which kubeadm stores in the cluster',
      },
    ),
    pki: field(
      pki,
      'Certificates and keys of the cluster that exist already. machineadm checks that they belong together. Not for a worker.',
      {
        absent: 'kubeadm creates or downloads them',
        example: { ca: { certificate: EXAMPLE_CERTIFICATE, key: { secret: 'caKey' } } },
        changes: 'certificates and keys in `/etc/kubernetes/pki`',
      },
    ),
    controlPlane: field(controlPlane, 'The components of the control plane on this machine. Not for a worker.', {
      absent: 'the defaults of kubeadm',
      example: { apiEndpoint: { bindPort: 6443 } },
      changes: 'the static pods in `/etc/kubernetes/manifests`, and the files that they read below `/etc/kubernetes`',
    }),
    node: field(node, 'The Node object and the kubelet of this machine.', {
      absent: 'the defaults of kubeadm',
      example: { name: 'node-1', labels: { rack: 'r12' } },
      changes: 'the Node object, `/var/lib/kubelet/config.yaml` and `/var/lib/kubelet/kubeadm-flags.env`',
    }),
    join: field(
      join,
      'How a machine that joins finds its cluster. Required for the roles JoinControlPlane and Worker.',
      {
        absent: 'the role InitControlPlane has none',
        changes: 'the kubelet client certificate and `/etc/kubernetes/kubelet.conf`; with `discovery.file`, that file',
        example: {
          discovery: {
            token: {
              token: { secret: 'joinToken' },
              endpoint: 'api.prod-a.example:6443',
              caCertHashes: ['sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
            },
          },
        },
      },
    ),
    addons: field(addons, 'The addons that kubeadm installs when it creates a cluster.', {
      absent: 'CoreDNS and kube-proxy',
      example: { proxy: { enabled: false } },
      changes: 'objects in the namespace kube-system',
    }),
    timeouts: field(timeouts, 'How long kubeadm and the whole run wait.', {
      absent: 'the defaults of kubeadm, and 30m for the whole run',
      example: { overall: '20m' },
      changes: 'nothing; how long a run waits',
    }),
    ready: field(ready, 'What must be true before the run is a success.', {
      absent: 'NodeRegistered within 5m',
      example: { require: 'NodeReady', timeout: '10m' },
      changes: 'nothing; what a run waits for',
    }),
  },
  kubernetesConditions,
);

export type KubernetesSection = z.infer<typeof kubernetes>;

/** The section `kubernetes`. Defaults that the documentation promises; kubeadm's own stay kubeadm's. */
export function toKubernetes(section: KubernetesSection, resolve: ResolveSecret): KubernetesModel {
  const { kubeadm, exec } = section.bootstrapper ?? {};
  const extra = extraConfiguration(kubeadm);
  return {
    version: section.version,
    role: section.role,
    kubeadm: toKubeadm(kubeadm),
    exec: toExec(exec, section.ready?.require),
    cluster: toCluster(section.cluster, resolve),
    pki: toPki(section.pki, resolve),
    controlPlane: toControlPlane(section.controlPlane, resolve),
    node: toNode(section.node, extra.kubelet),
    join: toJoin(section.join, resolve),
    addons: toAddons(section.addons, extra.proxy),
    timeouts: toTimeouts(section.timeouts),
    ready: toReady(section.ready),
  };
}
