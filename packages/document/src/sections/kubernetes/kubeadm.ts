import { is, must, when } from '../../fields/conditions.ts';
import { choice, field, looseObject, meaning, object } from '../../fields/field.ts';
import { absolutePath } from '../../fields/types.ts';
import { typeMeta } from '../../kubernetes-releases/configurations.ts';
import type { PatchTarget } from '../../kubernetes-releases/kubeadm.ts';
import { NEWEST_KNOWN_MINOR } from '../../kubernetes-releases/minor.ts';
import * as z from '../../schema/zod.ts';
import { type RetryModel, retry, toRetry } from './retry.ts';

export interface KubeadmModel {
  /** kubeadm's --v, at most 5: from 8 it prints request bodies with Secrets. */
  readonly verbosity: number | undefined;
  readonly skipPhases: readonly string[];
  readonly ignorePreflightErrors: readonly string[];
  /** A directory of patches that is not ours; excludes `patches`. */
  readonly patchesDirectory: string | undefined;
  readonly patches: readonly KubeadmPatch[];
  /** Whether it is ended when what it waits for exits again and again by its own configuration. */
  readonly failFast: boolean;
  readonly retry: RetryModel;
}

/** A patch of one of kubeadm's targets, in kubeadm's words. */
export interface KubeadmPatch {
  readonly target: PatchTarget;
  /** `json` is a list of operations (RFC 6902), the others are a part of the object. */
  readonly type: 'strategic' | 'merge' | 'json';
  readonly patch: Readonly<Record<string, unknown>> | readonly unknown[];
}

const patch = object(
  {
    target: field(
      choice({
        etcd: 'The static pod of etcd.',
        'kube-apiserver': 'The static pod of the API server.',
        'kube-controller-manager': 'The static pod of the controller manager.',
        'kube-scheduler': 'The static pod of the scheduler.',
        kubeletconfiguration: 'The configuration of the kubelet.',
        corednsdeployment: 'The Deployment of CoreDNS. Needs a newer kubeadm.',
        kubeproxydaemonset: 'The DaemonSet of kube-proxy. Needs a newer kubeadm.',
      }),
      'What is patched. A worker has only kubeletconfiguration.',
      { example: 'kube-apiserver' },
    ),
    type: field(
      choice({
        strategic: 'A strategic merge patch of Kubernetes.',
        merge: 'A JSON merge patch (RFC 7386).',
        json: 'A list of operations (RFC 6902).',
      }),
      'The kind of patch.',
      {
        default: 'strategic',
        example: 'merge',
      },
    ),
    patch: field(
      z.union([z.record(z.string(), z.unknown()), z.array(z.unknown()).min(1)], {
        error: 'expected a map, or for the type json a list of operations',
      }),
      'The patch itself, a map. For type json it is a list of operations (RFC 6902).',
      { example: { spec: { priority: 1000 } } },
    ),
  },
  () => [when(is('type', 'json'), must('patch', { type: 'array' }), must('patch', { type: 'object' }))],
).refine(({ type, patch: content }) => Array.isArray(content) === (type === 'json'), {
  error: 'the type json takes a list of operations (RFC 6902), the others a map',
  path: ['patch'],
});

const COMPONENT_CONFIGURATIONS: Readonly<Record<string, string>> = {
  KubeletConfiguration: typeMeta('KubeletConfiguration', NEWEST_KNOWN_MINOR).apiVersion,
  KubeProxyConfiguration: typeMeta('KubeProxyConfiguration', NEWEST_KNOWN_MINOR).apiVersion,
};

/** kubeadm's own kinds are what the rest of the document says: they have no place here. */
const extraDocument = meaning(
  looseObject({
    apiVersion: field(z.string(), 'The API version of the kind.', { example: 'kubelet.config.k8s.io/v1beta1' }),
    kind: field(
      z.string().refine((kind) => Object.hasOwn(COMPONENT_CONFIGURATIONS, kind), {
        error:
          'expected KubeletConfiguration or KubeProxyConfiguration; settings of kubeadm itself have their own fields',
        abort: true,
      }),
      'KubeletConfiguration or KubeProxyConfiguration.',
      { example: 'KubeletConfiguration' },
    ),
  }).refine(({ apiVersion, kind }) => COMPONENT_CONFIGURATIONS[kind] === apiVersion, {
    error: ({ input }) => `expected ${COMPONENT_CONFIGURATIONS[kindOf(input)] ?? 'the API version of the kind'}`,
    path: ['apiVersion'],
  }),
  {
    anyOf: Object.entries(COMPONENT_CONFIGURATIONS).map(([kind, apiVersion]) => ({
      properties: { kind: { const: kind }, apiVersion: { const: apiVersion } },
    })),
  },
);

function kindOf(input: unknown): string {
  return typeof input === 'object' && input !== null && 'kind' in input ? String(input.kind) : '';
}

export const kubeadm = object({
  verbosity: field(
    z.int().min(0).max(5, 'at most 5: above, kubeadm prints the bodies of requests, Secrets among them'),
    'The log level of kubeadm, 0 to 5. Above 5 kubeadm prints the bodies of requests, which hold secrets.',
    { absent: 'the default of kubeadm, 0', example: 2 },
  ),
  skipPhases: field(
    z.array(z.string().regex(/^[a-z0-9-]+(?:\/[a-z0-9-]+)*$/, 'not the name of a phase')),
    'Phases of kubeadm that are left out.',
    { default: [], example: ['addon/kube-proxy'] },
  ),
  ignorePreflightErrors: field(
    z.array(z.string().min(1)),
    'Names of preflight checks of kubeadm whose failure is ignored, or all.',
    { default: [], example: ['NumCPU'] },
  ),
  patches: field(
    z.union(
      [
        z.array(patch),
        object({
          directory: field(absolutePath, 'A directory on the machine with patches, named as kubeadm reads them.', {
            example: '/etc/kubernetes/patches',
          }),
        }),
      ],
      {
        error: 'expected a list of {target, type, patch}, or {directory}',
      },
    ),
    'Patches for the files that kubeadm writes, as a list or as a directory on the machine.',
    { default: [], example: [{ target: 'kube-apiserver', patch: { spec: { priority: 1000 } } }] },
  ),
  extraDocuments: field(
    z.array(extraDocument),
    'A KubeletConfiguration and a KubeProxyConfiguration, passed on unchanged. Settings of kubeadm itself have their own fields.',
    {
      default: [],
      example: [{ apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration', maxPods: 200 }],
    },
  ),
  failFast: field(
    z.boolean(),
    'Whether kubeadm is ended when the kubelet, or a component of the control plane, exits twice because of its own configuration, such as an unknown flag. kubeadm itself would wait for minutes.',
    { default: true, example: false, changes: 'nothing; how long a run that must fail takes' },
  ),
  retry,
});

type KubeadmSection = z.infer<typeof kubeadm> | undefined;
type Configuration = Readonly<Record<string, unknown>>;

export function toKubeadm(section: KubeadmSection): KubeadmModel {
  const patches = section?.patches;
  return {
    verbosity: section?.verbosity,
    skipPhases: section?.skipPhases ?? [],
    ignorePreflightErrors: section?.ignorePreflightErrors ?? [],
    patchesDirectory: patches === undefined || Array.isArray(patches) ? undefined : patches.directory,
    patches: Array.isArray(patches)
      ? patches.map(({ target, type, patch }) => ({ target, type: type ?? 'strategic', patch }))
      : [],
    failFast: section?.failFast ?? true,
    retry: toRetry(section?.retry),
  };
}

/**
 * What `extraDocuments` say of the kubelet and of kube-proxy: the same as `node.kubelet.config` and
 * `addons.proxy.config`, so that they become one document each (kubeadm refuses a kind that comes twice).
 */
export function extraConfiguration(section: KubeadmSection): {
  readonly kubelet: Configuration;
  readonly proxy: Configuration;
} {
  const of = (wanted: 'KubeletConfiguration' | 'KubeProxyConfiguration'): Configuration => {
    const {
      apiVersion: _apiVersion,
      kind: _kind,
      ...config
    } = section?.extraDocuments?.find(({ kind }) => kind === wanted) ?? {};
    return config;
  };
  return { kubelet: of('KubeletConfiguration'), proxy: of('KubeProxyConfiguration') };
}
