import { isDeepStrictEqual } from 'node:util';
import { foreignYaml, QUIET } from '@machineadm/document/foreign-yaml.ts';
import { STATIC_PODS_DIRECTORY } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { member, text } from '@machineadm/document/untyped.ts';

/** kubeadm's static pod of the API server. */
export const API_SERVER_MANIFEST = `${STATIC_PODS_DIRECTORY}/kube-apiserver.yaml`;
/** As kubeadm writes it (k/k cmd/kubeadm/app/util/staticpod/utils.go). */
export const API_SERVER_MANIFEST_MODE = 0o600;

/** kubeadm's own note of where this API server listens (k/k cmd/kubeadm/app/constants/constants.go). */
const ENDPOINT_ANNOTATION = 'kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint';
/** When machineadm last restarted the API server: another value makes another pod, so that changed files are read. */
const CONFIGURED_ANNOTATION = 'machineadm.dev/configured-at';

/** What is read of the manifest of an API server. */
export interface ApiServerManifest {
  /** The program and its arguments, as the process has them. */
  readonly command: readonly string[];
  /** `10.0.0.3:6443`, `[fd00::1]:6443`; undefined where kubeadm did not note it. */
  readonly endpoint: string | undefined;
  /** Names of the variables set. */
  readonly env: readonly string[];
  readonly volumes: readonly { readonly name: string; readonly hostPath: string }[];
}

/** Reads a manifest; undefined for what is no manifest of an API server. */
export async function readManifest(source: string): Promise<ApiServerManifest | undefined> {
  const pod = await foreignYaml(source);
  const annotations = member(member(pod, 'metadata'), 'annotations');
  // Where machineadm writes its own.
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

/** The same manifest as another pod: the kubelet restarts what it holds, whether or not anything else changed. */
export async function asAnotherPod(source: string, at: Date): Promise<string> {
  const { isMap, parseDocument, Scalar } = await import('yaml');
  const document = parseDocument(source, QUIET);
  const value = new Scalar(at.toISOString());
  // YAML 1.1, which the kubelet reads, has timestamps.
  value.type = Scalar.QUOTE_DOUBLE;
  for (const path of [['metadata'], ['metadata', 'annotations']])
    if (!isMap(document.getIn(path))) document.setIn(path, document.createNode({}));
  document.setIn(['metadata', 'annotations', CONFIGURED_ANNOTATION], value);
  return document.toString({ lineWidth: 0 });
}

/** Whether two manifests make the same pod, but for when machineadm restarted it. */
export async function isSamePod(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([one, other].map(withoutOwnAnnotation));
  return isDeepStrictEqual(a, b);
}

async function withoutOwnAnnotation(source: string): Promise<unknown> {
  const pod = await foreignYaml(source);
  const metadata = member(pod, 'metadata');
  const annotations = member(metadata, 'annotations');
  if (pod === undefined || typeof metadata !== 'object' || metadata === null) return pod ?? source;
  if (typeof annotations === 'object' && annotations !== null)
    Reflect.deleteProperty(annotations, CONFIGURED_ANNOTATION);
  // One that holds nothing is none.
  if (Object.keys(annotations ?? {}).length === 0) Reflect.deleteProperty(metadata, 'annotations');
  return pod;
}

function isMapOrNothing(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'object' && !Array.isArray(value));
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
