import { broken, type Clause, type ClauseResult, kept, notApplicable, type Subject } from './clause.ts';
import { isOstreeRoot } from './mounts.ts';

/** kubeadm cmd/kubeadm/app/phases/controlplane/volumes.go, flexvolumeDirVolumePath. */
const FLEXIBLE_VOLUMES = '/usr/libexec/kubernetes/kubelet-plugins/volume/exec';
/** `bin_dir` in containerd's default configuration. */
const NETWORK_PLUGINS = '/opt/cni/bin';
const TMPFILES = ['/etc/tmpfiles.d', '/usr/lib/tmpfiles.d'];

/** Clauses about systems whose /usr is read-only and whose /opt and /usr/local may be links into /var. */
export const IMMUTABLE_CLAUSES: readonly Clause[] = [
  {
    id: 'SYS-02',
    level: 'SHOULD',
    title: 'an ostree system has the program in /usr of the image, and not below /var, which belongs to one machine',
    check: onOstree(({ tree, program }) => {
      if (program === undefined) return notApplicable('machineadm is not installed here');
      const path = tree.stat(program)?.path ?? program;
      return path.startsWith('/var/')
        ? broken(`${program} is ${path}`, 'Install the package, or the program into /usr/bin: updates then replace it.')
        : kept(path);
    }),
  },
  {
    id: 'SYS-04',
    level: 'SHOULD',
    title: `an ostree system with Kubernetes has ${FLEXIBLE_VOLUMES}: kubeadm's pods cannot create it`,
    check: onOstree(({ tree, profile }) => {
      if (profile !== 'kubernetes') return notApplicable('no Kubernetes in this image');
      return tree.stat(FLEXIBLE_VOLUMES)?.type === 'directory'
        ? kept('it exists')
        : broken(
            'it does not exist',
            'Create it in the image, or set flex-volume-plugin-dir and volumePluginDir in the document.',
          );
    }),
  },
  {
    id: 'SYS-05',
    level: 'SHOULD',
    title: `an ostree system with Kubernetes has ${NETWORK_PLUGINS}, or creates it at boot`,
    check: onOstree(({ tree, profile }) => {
      if (profile !== 'kubernetes') return notApplicable('no Kubernetes in this image');
      if (tree.stat(NETWORK_PLUGINS)?.type === 'directory') return kept('it exists');
      const files = TMPFILES.flatMap((directory) => tree.list(directory).map((name) => `${directory}/${name}`));
      const creator = files.find((path) => /^[dDvL]\S*\s+\S*\/cni\/bin\b/m.test(tree.readText(path) ?? ''));
      return creator === undefined
        ? broken('it does not exist', 'Create it by tmpfiles.d(5): "d /var/opt/cni/bin 0755".')
        : kept(creator);
    }),
  },
];

function onOstree(check: (subject: Subject) => ClauseResult): Clause['check'] {
  return (subject) => (isOstreeRoot(subject) ? check(subject) : notApplicable('not a system of ostree'));
}
