import { globSync } from 'node:fs';
import { join } from 'node:path';
import { LAB_DIRECTORY } from '../../scripts/lab/artefacts.ts';

/** The programs of a Kubernetes and its etcd. Only 1.20 has a port without TLS, which an option closes. */
interface Release {
  readonly programs: string;
  readonly etcd: string;
  readonly options: readonly string[];
}

/** Those of `MACHINEADM_CAPI` (test/support/capi-managers.ts), otherwise the lab's, 1.20; undefined if neither is there. */
export function kubernetesRelease(): Release | undefined {
  const current = process.env.MACHINEADM_CAPI;
  if (current !== undefined) return { programs: current, etcd: join(current, 'etcd'), options: [] };
  const [lab] = globSync(join(LAB_DIRECTORY, 'kubernetes-*/bin/kube-apiserver')).map((path) => join(path, '../..'));
  if (lab === undefined) return undefined;
  return { programs: join(lab, 'bin'), etcd: join(lab, 'etcd/usr/bin/etcd'), options: ['--insecure-port=0'] };
}

/** Where a program of it is: `kubectl`. */
export function kubernetesProgram(name: string): string {
  return join(kubernetesRelease()?.programs ?? '', name);
}
