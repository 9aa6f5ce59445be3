import type * as z from 'zod';
import { field, object } from '../../sections/field.ts';
import { containerd } from './containerd.ts';

export const containerRuntime = object({
  containerd: field(
    containerd,
    'The configuration of containerd, /etc/containerd/config.toml and certs.d. machineadm keeps a backup of what was there and restarts containerd after a change.',
    {
      absent: 'containerd is left as it is configured',
      example: { cgroupDriver: 'systemd', sandboxImage: 'registry.k8s.io/pause:3.10' },
    },
  ),
});

export type ContainerRuntimeSection = z.infer<typeof containerRuntime>;
