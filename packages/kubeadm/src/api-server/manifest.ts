import { isDeepStrictEqual } from 'node:util';
import { STATIC_PODS_DIRECTORY } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import { foreignYaml, QUIET } from '@machineadm/document/yaml/foreign-yaml.ts';

/** kubeadm's static pod of the API server. */
export const API_SERVER_MANIFEST = `${STATIC_PODS_DIRECTORY}/kube-apiserver.yaml`;
/** As kubeadm writes it (k/k cmd/kubeadm/app/util/staticpod/utils.go). */
export const API_SERVER_MANIFEST_MODE = 0o600;

/** kubeadm's annotation with the address of this API server (k/k cmd/kubeadm/app/constants/constants.go). */
const ENDPOINT_ANNOTATION = 'kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint';
/**
 * The time of machineadm's last restart of the API server: a new value changes the pod, so that changed files are read.
 */
const CONFIGURED_ANNOTATION = 'machineadm.dev/configured-at';

/** The parts of an API server's manifest that are used. */
export interface ApiServerManifest {
  /** The program and its arguments, as in its process. */
  readonly command: readonly string[];
  /** `10.0.0.3:6443`, `[fd00::1]:6443`; undefined without kubeadm's annotation. */
  readonly endpoint: string | undefined;
  /** Names of the variables set. */
  readonly env: readonly string[];
  readonly volumes: readonly { readonly name: string; readonly hostPath: string }[];
}

/** Parses a manifest; undefined where it is not one of an API server. */
export async function readManifest(source: string): Promise<ApiServerManifest | undefined> {
  const pod = await foreignYaml(source);
  const annotations = member(member(pod, 'metadata'), 'annotations');
  // The path of machineadm's own copy.
  if (![member(pod, 'metadata'), annotations].every(isMapOrNothing)) return undefined;
  const container = list(member(member(pod, 'spec'), 'containers'))[0];
  const command = [...list(member(container, 'command')), ...list(member(container, 'args'))].filter(
    (word) => typeof word === 'string',
  );
  if (command.length === 0) return undefined;
  return {
    command,
    endpoint: text(member(annotations, ENDPOINT_ANNOTATION)),
    env: list(member(container, 'env')).flatMap((variable) => text(member(variable, 'name')) ?? []),
    volumes: list(member(member(pod, 'spec'), 'volumes')).flatMap((volume) => {
      const [name, hostPath] = [text(member(volume, 'name')), text(member(member(volume, 'hostPath'), 'path'))];
      return name === undefined || hostPath === undefined ? [] : [{ name, hostPath }];
    }),
  };
}

/** The same manifest as a new pod: the kubelet restarts its containers even if nothing else changed. */
export async function asAnotherPod(source: string, at: Date): Promise<string> {
  const { isMap, parseDocument, Scalar } = await import('yaml');
  const document = parseDocument(source, QUIET);
  const value = new Scalar(at.toISOString());
  // The kubelet reads YAML 1.1, which has timestamps.
  value.type = Scalar.QUOTE_DOUBLE;
  for (const path of [['metadata'], ['metadata', 'annotations']])
    if (!isMap(document.getIn(path))) document.setIn(path, document.createNode({}));
  document.setIn(['metadata', 'annotations', CONFIGURED_ANNOTATION], value);
  return document.toString({ lineWidth: 0 });
}

/** Whether two manifests describe the same pod, ignoring machineadm's restart time. */
export async function isSamePod(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([one, other].map(withoutOwnAnnotation));
  return isDeepStrictEqual(a, b);
}

/** The content of a manifest without machineadm's restart time. */
export async function withoutOwnAnnotation(source: string): Promise<unknown> {
  const pod = await foreignYaml(source);
  const metadata = member(pod, 'metadata');
  const annotations = member(metadata, 'annotations');
  if (pod === undefined || typeof metadata !== 'object' || metadata === null) return pod ?? source;
  if (typeof annotations === 'object' && annotations !== null)
    Reflect.deleteProperty(annotations, CONFIGURED_ANNOTATION);
  // An empty map is equal to a missing one.
  if (Object.keys(annotations ?? {}).length === 0) Reflect.deleteProperty(metadata, 'annotations');
  return pod;
}

function isMapOrNothing(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'object' && !Array.isArray(value));
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
