import type { Role } from '@machineadm/document/model/index.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { unrelatedFacts } from '../cluster-class/related-objects.ts';
import { type ConvertedDocument, convertSpec, dropOtherRoles } from '../documents/document.ts';
import type { ConvertOptions } from '../inputs/conversion.ts';
import type { InputObject, Inputs } from '../inputs/input.ts';
import {
  argumentsIn,
  assignedValue,
  certificatesIn,
  type NodeArgument,
  type NodeFile,
  type NodeFiles,
  ownKubeletSettings,
  publicKeyIn,
  type StaticPod,
  staticPodOf,
} from '../inputs/node-files.ts';
import { fromBase64 } from '../inputs/secrets.ts';
import { caCertHash } from '../kubernetes/certificate-hash.ts';
import type { Report } from '../report/report.ts';
import { EMPTY_HOST, type FileSpec, type Spec } from '../spec/spec.ts';
import { Expressions } from '../texts/jinja.ts';
import { yamlValue } from '../texts/yaml.ts';
import { at, isMap, items, text } from '../values/map.ts';
import { Source } from '../values/source.ts';

const PKI = '/etc/kubernetes/pki';
const MANIFESTS = '/etc/kubernetes/manifests/';
const KUBELET_CONF = '/etc/kubernetes/kubelet.conf';
/** Its server is the endpoint of the cluster, also where the kubelet calls its own machine. */
const ADMIN_CONF = '/etc/kubernetes/admin.conf';
/** What kubeadm mounts into the API server (k/k app/phases/controlplane/volumes.go). */
const USUAL_MOUNTS =
  /^\/(?:etc\/(?:kubernetes\/pki|ssl\/certs|ca-certificates|pki(?:\/[a-z-]{1,20})?)|usr\/(?:local\/)?share\/ca-certificates)\/?$/;
const CONFIG_MAPS =
  'kubectl -n kube-system get configmap kubeadm-config kubelet-config -o yaml | machineadm convert --from-node -f -';

/**
 * The document that would make a node again from its files. It joins the cluster that exists, unless --role says otherwise. Private
 * keys and other secrets are never in it: the document reads them from files. What the files do not say is a decision.
 */
export async function convertNodeFiles(
  node: NodeFiles,
  ofCluster: readonly InputObject[],
  inputs: Inputs,
  options: ConvertOptions,
  report: Report,
): Promise<readonly ConvertedDocument[]> {
  const origin = node.root === '/' ? 'this node' : node.root;
  for (const { path, why } of node.unread) report.add('NodeUnknown', `${origin}: ${path}`, why);
  const read = (path: string): string | undefined => node.files.find((file) => file.path === path)?.text;
  const yaml = async (path: string): Promise<unknown> => {
    const content = read(path);
    return content === undefined ? undefined : await yamlValue(content, `${origin}: ${path}`, report);
  };
  const kubeconfig = await yaml(KUBELET_CONF);
  if (kubeconfig === undefined) {
    const isThere = node.unread.some(({ path }) => path === KUBELET_CONF) || read(KUBELET_CONF) !== undefined;
    const why = isThere ? 'cannot be read' : 'does not exist: no node that kubeadm has made';
    report.add('InputUnknown', origin, `${KUBELET_CONF} ${why}`);
    return [];
  }
  const [apiServer, controllerManager, etcd] = await Promise.all(
    ['kube-apiserver', 'kube-controller-manager', 'etcd'].map(async (name) => {
      const pod = await yaml(`${MANIFESTS}${name}.yaml`);
      return pod === undefined ? undefined : staticPodOf(pod);
    }),
  );
  const role = options.role ?? (apiServer === undefined ? 'Worker' : 'JoinControlPlane');
  if ((role === 'Worker') !== (apiServer === undefined)) {
    const what = apiServer === undefined ? 'a worker' : 'of the control plane';
    report.add('RoleUnclear', origin, `it is ${what}, and cannot become a ${role}`);
    return [];
  }
  const stored = (kind: string): InputObject | undefined => ofCluster.find((object) => object.kind === kind);
  const storedCluster = stored('ClusterConfiguration');
  const kubeletConfig = await yaml('/var/lib/kubelet/config.yaml');
  const instance = await yaml('/var/lib/kubelet/instance-config.yaml');
  const cluster = clusterOf(node, apiServer, controllerManager, etcd, kubeletConfig, storedCluster?.value);
  const registration = registrationOf(kubeconfig, [instance, kubeletConfig], read, origin, report);
  const admin = await yaml(ADMIN_CONF);
  const known = options.endpoint ?? text(storedCluster?.value.controlPlaneEndpoint) ?? serverOf(admin);
  const endpoint = known === undefined || known === '' ? ownEndpoint(kubeconfig, apiServer, origin, report) : known;
  const authority = authorityOf(kubeconfig, read);
  const hash = authority === undefined ? undefined : await caCertHash(authority);
  const localAPIEndpoint = {
    advertiseAddress: apiServer?.args.get('advertise-address'),
    bindPort: numberOf(apiServer?.args.get('secure-port')),
  };
  const join = {
    discovery: { bootstrapToken: { apiServerEndpoint: endpoint, caCertHashes: hash === undefined ? [] : [hash] } },
    nodeRegistration: registration,
    ...(apiServer === undefined ? {} : { controlPlane: { localAPIEndpoint } }),
  };
  const starts = role === 'InitControlPlane';
  const source = (value: unknown, kind: string): Source => Source.of(value, `${origin} ${kind}`, report);
  const nothing = Source.of(undefined, origin, report);
  const clusterSource = source(cluster, storedCluster?.title ?? 'ClusterConfiguration');
  for (const header of ['apiVersion', 'kind']) clusterSource.get(header).drop('TypeMeta');
  const spec: Spec = {
    ...EMPTY_HOST,
    resolved: true,
    verbosity: nothing,
    cluster: clusterSource,
    init: starts ? source({ localAPIEndpoint, nodeRegistration: registration }, 'InitConfiguration') : nothing,
    join: starts ? nothing : source(join, 'JoinConfiguration'),
    extraDocuments: [],
    files: filesOf(node, origin, report),
    certificates: role === 'Worker' ? new Map() : certificatesOf(node, read, origin, report),
    kubeletConfig: isMap(kubeletConfig)
      ? ownKubeletSettings(kubeletConfig, stored('KubeletConfiguration')?.value)
      : undefined,
  };
  reportUnknown(node, apiServer, starts && storedCluster === undefined, origin, report);
  return await converted(spec, role, text(registration.name) ?? hostnameOf(read), origin, inputs, options, report);
}

async function converted(
  spec: Spec,
  role: Role,
  name: string | undefined,
  origin: string,
  inputs: Inputs,
  options: ConvertOptions,
  report: Report,
): Promise<readonly ConvertedDocument[]> {
  const related = unrelatedFacts(name, options);
  const context = { report, expressions: new Expressions(), options, related, object: origin };
  const documents = await convertSpec(spec, role, inputs.secrets, context);
  dropOtherRoles(spec, [role], report);
  report.settle(documents.length > 0);
  return documents;
}

/** ClusterConfiguration: that of the cluster, or as much of it as the static pods tell. The version is the machine's own. */
function clusterOf(
  { kubeletVersion }: NodeFiles,
  apiServer: StaticPod | undefined,
  controllerManager: StaticPod | undefined,
  etcd: StaticPod | undefined,
  kubelet: unknown,
  stored: Readonly<Record<string, unknown>> | undefined,
): Readonly<Record<string, unknown>> {
  const kubernetesVersion = apiServer?.tag ?? kubeletVersion ?? text(stored?.kubernetesVersion);
  if (stored !== undefined) return { ...stored, kubernetesVersion };
  const argument = (name: string): string | undefined => apiServer?.args.get(name);
  const isExternal = apiServer !== undefined && etcd === undefined;
  return {
    kubernetesVersion,
    clusterName: controllerManager?.args.get('cluster-name'),
    networking: {
      serviceSubnet: argument('service-cluster-ip-range'),
      podSubnet: controllerManager?.args.get('cluster-cidr'),
      dnsDomain: text(at(kubelet, 'clusterDomain')),
    },
    etcd: isExternal
      ? {
          external: {
            endpoints: argument('etcd-servers')?.split(','),
            caFile: argument('etcd-cafile'),
            certFile: argument('etcd-certfile'),
            keyFile: argument('etcd-keyfile'),
          },
        }
      : undefined,
  };
}

/** Of the arguments of the kubelet those that kubeadm adds itself. */
const ADDED = new Set(['pod-infra-container-image', 'container-runtime', 'network-plugin', 'cgroup-driver']);

/** nodeRegistration: the name if it is not that of the host, the socket, and the arguments of the kubelet. */
function registrationOf(
  kubeconfig: unknown,
  configs: readonly unknown[],
  read: (path: string) => string | undefined,
  origin: string,
  report: Report,
): Readonly<Record<string, unknown>> {
  const args: NodeArgument[] = [];
  for (const [path, name] of [
    ['/var/lib/kubelet/kubeadm-flags.env', 'KUBELET_KUBEADM_ARGS'],
    ['/etc/default/kubelet', 'KUBELET_EXTRA_ARGS'],
    ['/etc/sysconfig/kubelet', 'KUBELET_EXTRA_ARGS'],
  ] as const) {
    const line = assignedValue(read(path) ?? '', name);
    const given = line === undefined ? [] : argumentsIn(line);
    if (given === undefined) report.add('NodeUnknown', `${origin}: ${path}`, `${name} has a word that is no argument`);
    args.push(...(given ?? []));
  }
  const value = (name: string): string | undefined => args.findLast((one) => one.name === name)?.value;
  const names = [value('hostname-override'), userOf(kubeconfig)?.match(/^system:node:(.{1,253})$/)?.[1]];
  const name = names.find((one) => one !== undefined);
  const socket = [
    value('container-runtime-endpoint'),
    ...configs.map((one) => text(at(one, 'containerRuntimeEndpoint'))),
  ];
  const taken = new Set([...ADDED, 'hostname-override', 'container-runtime-endpoint']);
  const rest = args.filter((one) => !taken.has(one.name));
  for (const one of rest.filter(({ value: content }) => redact(content) !== content)) {
    report.add('NodeUnknown', origin, `the argument ${one.name} of the kubelet looks like a secret, and is left out`);
  }
  return {
    name: name === hostnameOf(read) ? undefined : name,
    criSocket: socket.find((one) => one !== undefined && one !== ''),
    kubeletExtraArgs: rest.filter(({ value: content }) => redact(content) === content),
  };
}

function hostnameOf(read: (path: string) => string | undefined): string | undefined {
  const name = read('/etc/hostname')?.trim().toLowerCase();
  return name !== undefined && /^[a-z0-9][a-z0-9.-]{0,252}$/.test(name) ? name : undefined;
}

/** The user of the current context. */
function userOf(kubeconfig: unknown): string | undefined {
  const current = text(at(kubeconfig, 'current-context'));
  const context = items(at(kubeconfig, 'contexts')).find((one) => text(at(one, 'name')) === current);
  return text(at(context, 'context', 'user'));
}

function clusterEntry(kubeconfig: unknown): unknown {
  return at(items(at(kubeconfig, 'clusters'))[0], 'cluster');
}

/** host:port of the API server that a kubeconfig names. */
function serverOf(kubeconfig: unknown): string | undefined {
  const server = text(at(clusterEntry(kubeconfig), 'server'));
  return server?.replace(/^https:\/\//, '').replace(/\/$/, '');
}

/** The API server that the kubelet calls; with ControlPlaneKubeletLocalMode that of the machine itself. */
function ownEndpoint(
  kubeconfig: unknown,
  apiServer: StaticPod | undefined,
  origin: string,
  report: Report,
): string | undefined {
  const server = serverOf(kubeconfig);
  const own = apiServer?.args.get('advertise-address');
  if (own !== undefined && server?.includes(own) === true) {
    report.add('NodeUnknown', origin, `${KUBELET_CONF} names this machine itself: give the cluster's with --endpoint`);
  }
  return server;
}

function authorityOf(kubeconfig: unknown, read: (path: string) => string | undefined): string | undefined {
  const data = text(at(clusterEntry(kubeconfig), 'certificate-authority-data'));
  const bytes = data === undefined ? undefined : fromBase64(data);
  const pem = bytes === undefined ? read(`${PKI}/ca.crt`) : new TextDecoder().decode(bytes);
  return pem === undefined ? undefined : certificatesIn(pem);
}

function numberOf(value: string | undefined): number | undefined {
  return value !== undefined && /^\d{1,5}$/.test(value) ? Number(value) : undefined;
}

function reportUnknown(
  node: NodeFiles,
  apiServer: StaticPod | undefined,
  lacksConfiguration: boolean,
  origin: string,
  report: Report,
): void {
  const others =
    'accounts, packages, disks, mounts, network, firewall, and units other than drop-ins of containerd and the kubelet';
  report.add('NodeUnknown', origin, `not read: ${others}`);
  report.add(
    'NodeUnknown',
    origin,
    'labels, taints and annotations of the Node are in the API server: kubectl get node -o yaml',
  );
  if (lacksConfiguration) {
    report.add(
      'NodeUnknown',
      origin,
      `arguments of the control plane and of its pods are in the cluster: ${CONFIG_MAPS}`,
    );
  }
  const given = new Set(node.files.map(({ path }) => path));
  for (const path of apiServer?.hostPaths ?? []) {
    if (USUAL_MOUNTS.test(path) || given.has(path)) continue;
    report.add('NodeUnknown', origin, `the API server mounts ${redact(path)}: write what is there into host.files`);
  }
}

/** The authorities of the cluster: certificates as they are, keys by reference. */
function certificatesOf(
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

/** The pods that kubeadm makes. */
const OF_KUBEADM = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'etcd'];
/** Files that become files: of directories whose content is set up for a node. */
const COPIED = /^\/etc\/(?:sysctl\.d|modules-load\.d|containerd|systemd\/system)\//;
/** The drop-in of kubeadm's package. */
const OF_PACKAGE = /\/kubelet\.service\.d\/10-kubeadm\.conf$/;

/** Files of the host, and static pods that kubeadm does not make. Private content is a reference. */
function filesOf({ files }: NodeFiles, origin: string, report: Report): readonly FileSpec[] {
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
