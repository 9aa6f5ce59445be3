import { pemBlocks } from '@machineadm/document/encodings/pem.ts';
import { isMap, items, text } from '../values/map.ts';

/** A text file of a node, as it is on its disk. */
export interface NodeFile {
  readonly path: string;
  readonly text: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/** What was read of a node. Whoever reads it bounds the size of each file, and their number. */
export interface NodeFiles {
  /** The directory in which they were found; "/" for the running machine. */
  readonly root: string;
  readonly files: readonly NodeFile[];
  /** Private files that exist; nobody has read them. */
  readonly present: readonly string[];
  /** Files that exist and could not be read, each with the reason. */
  readonly unread: readonly { readonly path: string; readonly why: string }[];
  /** Of the installed kubelet: `v1.34.2`. */
  readonly kubeletVersion: string | undefined;
}

/** A command-line argument: `name=value`. */
export interface NodeArgument {
  readonly name: string;
  readonly value: string;
}

/** The value of `NAME="a b"` in a file of systemd or a shell. */
export function assignedValue(content: string, name: string): string | undefined {
  for (const line of content.split('\n')) {
    const trimmed = line.trim();
    if (!trimmed.startsWith(`${name}=`)) continue;
    const value = trimmed.slice(name.length + 1);
    const quote = value[0];
    return (quote === '"' || quote === "'") && value.endsWith(quote) ? value.slice(1, -1) : value;
  }
  return undefined;
}

/** `--a=b --c d`, as the kubelet reads them; undefined for a word that is no flag. */
export function argumentsIn(line: string): readonly NodeArgument[] | undefined {
  const found: NodeArgument[] = [];
  for (const word of line.split(/\s/).filter((one) => one !== '')) {
    const last = found.at(-1);
    if (word.startsWith('--')) {
      const equals = word.indexOf('=');
      const name = word.slice(2, equals < 0 ? undefined : equals);
      found.push({ name, value: equals < 0 ? 'true' : word.slice(equals + 1) });
    } else if (last?.value === 'true') found[found.length - 1] = { ...last, value: word };
    else return undefined;
  }
  return found;
}

/** The first container of a static pod: its arguments, and the tag of its image. */
export interface StaticPod {
  readonly args: ReadonlyMap<string, string>;
  readonly tag: string | undefined;
  readonly hostPaths: readonly string[];
}

export function staticPodOf(pod: unknown): StaticPod {
  const spec = isMap(pod) && isMap(pod.spec) ? pod.spec : {};
  const [container] = items(spec.containers);
  const words = isMap(container) ? [...items(container.command), ...items(container.args)] : [];
  const image = isMap(container) ? (text(container.image) ?? '') : '';
  const name = image.split('@', 1)[0] ?? '';
  const args = words.flatMap((word): (readonly [string, string])[] => {
    const equals = typeof word === 'string' && word.startsWith('--') ? word.indexOf('=') : -1;
    return equals < 0 || typeof word !== 'string' ? [] : [[word.slice(2, equals), word.slice(equals + 1)]];
  });
  return {
    args: new Map(args),
    tag: name.lastIndexOf(':') > name.lastIndexOf('/') ? name.slice(name.lastIndexOf(':') + 1) : undefined,
    hostPaths: items(spec.volumes).flatMap((volume) =>
      isMap(volume) && isMap(volume.hostPath) ? (text(volume.hostPath.path) ?? []) : [],
    ),
  };
}

/** The certificates of a PEM text, without anything else that may be in it. */
export function certificatesIn(pem: string): string | undefined {
  return publicBlocks(pem, 'CERTIFICATE');
}

/** The public key of a PEM text. */
export function publicKeyIn(pem: string): string | undefined {
  return publicBlocks(pem, 'PUBLIC KEY');
}

function publicBlocks(pem: string, label: string): string | undefined {
  const blocks = pemBlocks(pem).filter((block) => block.label === label);
  if (blocks.length === 0) return undefined;
  return blocks
    .map(({ body }) => {
      const plain = body.replace(/\s/g, '');
      const lines: string[] = [];
      for (let start = 0; start < plain.length; start += 64) lines.push(plain.slice(start, start + 64));
      return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
    })
    .join('');
}

/** What kubeadm writes into the kubelet's configuration (k/k cmd/kubeadm/app/componentconfigs/kubelet.go), with Go's empty values. */
const DEFAULTS: Readonly<Record<string, unknown>> = {
  authentication: {
    anonymous: { enabled: false },
    webhook: { cacheTTL: '0s', enabled: true },
    x509: { clientCAFile: '/etc/kubernetes/pki/ca.crt' },
  },
  authorization: { mode: 'Webhook', webhook: { cacheAuthorizedTTL: '0s', cacheUnauthorizedTTL: '0s' } },
  cgroupDriver: 'systemd',
  healthzBindAddress: '127.0.0.1',
  healthzPort: 10248,
  logging: {
    flushFrequency: 0,
    options: { json: { infoBufferSize: '0' }, text: { infoBufferSize: '0' } },
    verbosity: 0,
  },
  resolvConf: '/run/systemd/resolve/resolv.conf',
  rotateCertificates: true,
  staticPodPath: '/etc/kubernetes/manifests',
};

/** Fields that are not the machine's: of the object, of the cluster, or said elsewhere in the document. */
const NOT_ITS_OWN = new Set(['apiVersion', 'kind', 'clusterDNS', 'clusterDomain', 'containerRuntimeEndpoint']);

/** The fields of a kubelet's configuration that the cluster, or without it kubeadm, would not give it. */
export function ownKubeletSettings(
  config: Readonly<Record<string, unknown>>,
  ofCluster: Readonly<Record<string, unknown>> | undefined,
): Readonly<Record<string, unknown>> {
  const usual = ofCluster ?? DEFAULTS;
  return Object.fromEntries(
    Object.entries(config).filter(
      ([name, value]) =>
        !NOT_ITS_OWN.has(name) &&
        !isEmpty(value) &&
        sorted(value) !== sorted(Object.hasOwn(usual, name) ? usual[name] : undefined),
    ),
  );
}

/** What Go writes for a field that nobody has set. */
function isEmpty(value: unknown): boolean {
  if (isMap(value)) return Object.values(value).every(isEmpty);
  return value === null || value === '' || value === '0s' || value === 0;
}

function sorted(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    isMap(item) ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1))) : item,
  );
}
