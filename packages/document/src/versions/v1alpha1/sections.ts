import { choice, field, object } from '../../fields/field.ts';
import * as z from '../../schema/zod.ts';
import { containerRuntime } from '../../sections/containerd/index.ts';
import { hardening } from '../../sections/hardening.ts';
import { images } from '../../sections/images.ts';
import { kubernetes } from '../../sections/kubernetes/index.ts';
import { reporting } from '../../sections/reporting.ts';
import { secrets } from '../../sections/secrets.ts';
import { variables } from '../../sections/variables.ts';
import { host } from './host.ts';

const metadata = object({
  name: field(
    z.string().min(1).max(253),
    'The name of the document, usually that of the Cluster API Machine. It identifies the document on a machine with several.',
    {
      example: 'prod-a-worker-0',
    },
  ),
  namespace: field(z.string().min(1).max(253), 'The namespace of the machine in the management cluster.', {
    absent: 'none is reported',
    example: 'clusters',
  }),
  uid: field(
    z.string().min(1).max(128),
    'The UID of the machine in the management cluster. A new UID means a new machine, so state of an earlier one with the same disk is ignored.',
    {
      absent: 'the instance ID of the cloud, or else the machine ID of the operating system',
      example: '5f0c9a5e-8c1b-4d58-9a35-0d9f2f1c7e11',
    },
  ),
  cluster: field(z.string().min(1).max(253), 'The name of the cluster that the machine belongs to.', {
    absent: 'none is reported',
    example: 'prod-a',
  }),
  labels: field(
    z.record(z.string(), z.string()),
    'Labels of the machine. They appear in reports only; labels of the Node are kubernetes.node.labels.',
    { default: {}, example: { rack: 'r12' } },
  ),
});

const apply = choice({
  Once: 'Nothing is done until the document changes.',
  EveryBoot: 'The document is applied again.',
});

/** The sections in reading order. `requires`, `apiVersion` and `kind` are checked before them, for every version. */
export const sections = {
  metadata: field(
    metadata,
    'The identity of the machine in the management cluster, and of the document on the machine. It appears in reports and in the status.',
    {
      example: { name: 'prod-a-worker-0', cluster: 'prod-a' },
      changes: 'nothing by itself; the name is part of the names of drop-ins',
    },
  ),
  apply: field(
    apply,
    'What the units of machineadm do at a boot after the document was applied. Once does nothing until the document changes; EveryBoot applies it again.',
    { default: 'Once', example: 'EveryBoot', changes: 'nothing; it decides what the units of machineadm do at a boot' },
  ),
  variables: field(
    variables,
    'Named values that only the machine knows. Write ${name} in a field that allows variables; $${name} is the text itself. A variable without a value ends the run before any change.',
    {
      default: {},
      example: { rack: { instanceData: 'ds.meta_data.rack' } },
      changes: 'nothing; fields of the document use the values',
    },
  ),
  secrets: field(
    secrets,
    'Named secrets. A field refers to one with {secret name}. The value is read when it is needed, and never printed.',
    {
      default: {},
      example: { joinToken: { file: '/run/secrets/token' } },
      changes: 'nothing; fields of the document use the values',
    },
  ),
  host: field(host, 'The operating system of the machine.', {
    absent: 'machineadm does not change the operating system',
    example: { hostname: 'node-1', swap: 'Disabled' },
    changes: 'the operating system, as each field below describes',
  }),
  containerRuntime: field(containerRuntime, 'The container runtime of the node.', {
    absent: 'the runtime of the image is used as it is configured',
    example: { containerd: { cgroupDriver: 'systemd' } },
    changes:
      '`/etc/containerd/config.toml`, `/etc/containerd/certs.d` and the service containerd, which restarts after a change',
  }),
  images: field(images, 'Container images that must be on the machine before the bootstrapper runs.', {
    absent: 'the bootstrapper pulls what it needs',
    example: { required: ['registry.k8s.io/pause:3.10'] },
    changes: 'the images in the namespace k8s.io of containerd',
  }),
  kubernetes: field(kubernetes, 'The Kubernetes node that the machine becomes.', {
    absent: 'machineadm configures the operating system only',
    example: { version: 'v1.35.2', role: 'InitControlPlane' },
    changes:
      '`/run/kubeadm`, and everything that kubeadm creates: `/etc/kubernetes`, `/var/lib/kubelet`, `/var/lib/etcd`',
  }),
  hardening: field(
    hardening,
    'The security benchmarks that machineadm applies to the machine and audits. See docs/hardening.md.',
    {
      absent: 'no benchmark is applied',
      example: { profiles: ['cis-level-1'] },
      changes:
        'the configuration of kubeadm, sysctl settings, kernel modules, modes of files, and the manifests of the control plane',
    },
  ),
  reporting: field(reporting, 'Receivers of the outcome of a run, in addition to the status file and the exit code.', {
    absent: 'the journal and the sentinel',
    example: { sinks: [{ type: 'Journal' }] },
    changes: 'the sentinel file, and reports in `/var/lib/machineadm/spool`',
  }),
};

/** A section's value once it is known to be valid; absent when it is not there or has mistakes. */
export type Sections = {
  readonly [Name in keyof typeof sections]?: NonNullable<z.infer<(typeof sections)[Name]['schema']>>;
};
