import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import type { QueryHost } from '../host/seam/host.ts';

/**
 * The sandbox (pause) image that the installed kubeadm would pull, so that the runtime does not need a second one,
 * which an air-gapped node does not have. undefined without kubeadm: containerd's own default stays. With an exact
 * version `kubeadm config images list` works offline (k/k cmd/kubeadm/app/util/version.go).
 */
export async function sandboxImageOf(
  host: QueryHost,
  kubernetes: Pick<KubernetesModel, 'version' | 'cluster'>,
): Promise<string | undefined> {
  const repository = kubernetes.cluster.imageRepository;
  const { status, stdout } = await host.query({
    program: 'kubeadm',
    args: [
      'config',
      'images',
      'list',
      `--kubernetes-version=${kubernetes.version}`,
      ...(repository === undefined ? [] : [`--image-repository=${repository}`]),
    ],
  });
  if (status !== 0) return undefined;
  return stdout
    .split('\n')
    .map((line) => line.trim())
    .find((image) => /\/pause[:@]/.test(image));
}
