import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { certificatesIn, type NodeFile, type NodeFiles, publicKeyIn } from '../inputs/node-files.ts';
import type { Report } from '../report/report.ts';
import type { FileSpec } from '../spec/spec.ts';
import { Source } from '../values/source.ts';

export const PKI = '/etc/kubernetes/pki';
export const MANIFESTS = '/etc/kubernetes/manifests/';
/** The pods that kubeadm makes. */
const OF_KUBEADM = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'etcd'];
/** Files that become files: of directories whose content is set up for a node. */
const COPIED = /^\/etc\/(?:sysctl\.d|modules-load\.d|containerd|systemd\/system)\//;
/** The drop-in of kubeadm's package. */
const OF_PACKAGE = /\/kubelet\.service\.d\/10-kubeadm\.conf$/;

/** The authorities of the cluster: certificates as they are, keys by reference. */
export function certificatesOf(
  { present }: NodeFiles,
  read: (path: string) => string | undefined,
  origin: string,
  report: Report,
): ReadonlyMap<string, FileSpec> {
  const found = new Map<string, FileSpec>();
  for (const name of ['ca', 'etcd/ca', 'front-proxy-ca', 'sa']) {
    const path = `${PKI}/${name}${name === 'sa' ? '.pub' : '.crt'}`;
    const pem = read(path);
    const content = pem === undefined ? undefined : name === 'sa' ? publicKeyIn(pem) : certificatesIn(pem);
    if (content === undefined) continue;
    found.set(path, fileSpec(path, content, undefined, Source.of(undefined, `${origin}: ${path}`, report)));
    const key = `${PKI}/${name}.key`;
    if (!present.includes(key)) continue;
    const at = Source.of(undefined, `${origin}: ${key}`, report);
    found.set(key, { ...fileSpec(key, '', undefined, at), isReference: true });
  }
  return found;
}

/** Files of the host, and static pods that kubeadm does not make. Private content is a reference. */
export function filesOf({ files }: NodeFiles, origin: string, report: Report): readonly FileSpec[] {
  const isOther = (path: string): boolean =>
    path.startsWith(MANIFESTS) && !OF_KUBEADM.some((name) => path === `${MANIFESTS}${name}.yaml`);
  return files
    .filter(({ path }) => (COPIED.test(path) && !OF_PACKAGE.test(path)) || isOther(path))
    .map((file) => {
      const isReference = (file.mode & 0o004) === 0 || redact(file.text) !== file.text;
      const at = Source.of(undefined, `${origin}: ${file.path}`, report);
      return { ...fileSpec(file.path, isReference ? '' : file.text, file, at), isReference };
    });
}

function fileSpec(path: string, content: string, file: NodeFile | undefined, at: Source): FileSpec {
  const isRoots = file === undefined || (file.uid === 0 && file.gid === 0);
  return {
    path,
    owner: isRoots ? undefined : `${file.uid}:${file.gid}`,
    permissions: file === undefined ? undefined : `0${file.mode.toString(8)}`,
    encoding: undefined,
    append: false,
    content,
    secret: undefined,
    template: false,
    rights: [],
    at,
  };
}
