import * as z from 'zod';
import { field, looseObject, meaning, object } from '../../sections/field.ts';
import { absolutePath, duration, environmentVariable } from './fields.ts';

/** `kubernetes.bootstrapper`: what turns the prepared host into a node. */

const retry = object({
  attempts: field(
    z.int().min(1).max(3, 'at most 3: after that, replacing the machine is the better answer'),
    'The number of attempts, 1 to 3.',
    { default: 3, example: 1 },
  ),
  backoff: field(duration, 'The wait before the second attempt. It doubles before the third.', {
    default: '10s',
    example: '30s',
  }),
});

const patch = object({
  target: field(
    z.enum([
      'etcd',
      'kube-apiserver',
      'kube-controller-manager',
      'kube-scheduler',
      'kubeletconfiguration',
      'corednsdeployment',
      'kubeproxydaemonset',
    ]),
    'What is patched. A worker has only kubeletconfiguration.',
    { example: 'kube-apiserver' },
  ),
  type: field(z.enum(['strategic', 'merge', 'json']), 'The kind of patch.', { default: 'strategic', example: 'merge' }),
  patch: field(
    z.union([z.record(z.string(), z.unknown()), z.array(z.unknown()).min(1)], {
      error: 'expected a map, or for the type json a list of operations',
    }),
    'The patch itself, a map. For type json it is a list of operations (RFC 6902).',
    { example: { spec: { priority: 1000 } } },
  ),
}).refine(({ type, patch: content }) => Array.isArray(content) === (type === 'json'), {
  error: 'the type json takes a list of operations (RFC 6902), the others a map',
  path: ['patch'],
});

const COMPONENT_CONFIGURATIONS: Readonly<Record<string, string>> = {
  KubeletConfiguration: 'kubelet.config.k8s.io/v1beta1',
  KubeProxyConfiguration: 'kubeproxy.config.k8s.io/v1alpha1',
};

/** kubeadm's own kinds are what the rest of the document says: they have no place here. */
const extraDocument = meaning(
  looseObject({
    apiVersion: field(z.string(), 'The API version of the kind.', { example: 'kubelet.config.k8s.io/v1beta1' }),
    kind: field(
      z.string().refine((kind) => Object.hasOwn(COMPONENT_CONFIGURATIONS, kind), {
        error:
          'expected KubeletConfiguration or KubeProxyConfiguration; what kubeadm itself takes has fields of its own',
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

const kubeadm = object({
  verbosity: field(
    z.int().min(0).max(5, 'at most 5: above, kubeadm prints the bodies of requests, Secrets among them'),
    'The log level of kubeadm, 0 to 5. Above 5 kubeadm prints the bodies of requests, which hold secrets.',
    { absent: 'that of kubeadm, 0', example: 2 },
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
    'Patches of what kubeadm writes, as a list or as a directory on the machine.',
    { default: [], example: [{ target: 'kube-apiserver', patch: { spec: { priority: 1000 } } }] },
  ),
  extraDocuments: field(
    z.array(extraDocument),
    'A KubeletConfiguration and a KubeProxyConfiguration as they are. Settings of kubeadm itself have fields of their own.',
    {
      default: [],
      example: [{ apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration', maxPods: 200 }],
    },
  ),
  retry: field(retry, 'How often the bootstrapper is tried where the cause of a failure may be temporary.', {
    absent: '3 attempts',
    example: { attempts: 2 },
  }),
});

/** A program and its arguments. */
const commandLine = z.array(z.string()).min(1);

const exec = object({
  command: field(
    z.string().regex(/^(?:\/[^\0\n]+|[A-Za-z0-9._+-]+)$/, 'not a program: an absolute path, or a name without "/"'),
    'The program, as an absolute path or a name. It reads the order (role, cluster, node, join, …) as JSON from stdin.',
    { example: '/usr/local/bin/bootstrap-k0s' },
  ),
  args: field(
    z.array(z.string()),
    'Arguments of the program. Every user of the machine can see them, so they may hold no secrets.',
    { default: [], example: ['--verbose'] },
  ),
  env: field(z.array(environmentVariable), 'Environment variables of the program.', {
    default: [],
    example: [{ name: 'LOG_LEVEL', value: 'debug' }],
  }),
  timeout: field(duration, 'How long one attempt may take.', { default: '20m', example: '10m' }),
  successTest: field(
    object({
      command: field(commandLine, 'The program and its arguments.', { example: ['/usr/local/bin/k0s', 'status'] }),
    }),
    'A test that ends with status 0 as soon as the node works.',
    {
      absent: 'the health endpoint of the kubelet is the test',
      example: { command: ['/usr/local/bin/k0s', 'status'] },
    },
  ),
  failurePatterns: field(
    z.array(
      object({
        pattern: field(
          z.string().min(1).max(500),
          'A regular expression that a line matches, in the syntax of RE2 (https://github.com/google/re2/wiki/Syntax), without lookaround and backreferences.',
          { example: 'no space left' },
        ),
        reason: field(z.string().min(1), 'What went wrong, in a sentence.', { example: 'The disk is full.' }),
        remedy: field(z.string().min(1), 'What to do about it.', {
          absent: 'no remedy is reported',
          example: 'Use a larger disk.',
        }),
        retryable: field(z.boolean(), 'Whether another attempt may succeed.', { default: false, example: true }),
      }),
    ),
    'What lines of the output of a failed program mean. They are tried in order on every line.',
    { default: [], example: [{ pattern: 'no space left', reason: 'The disk is full.' }] },
  ),
  reset: field(
    object({
      command: field(commandLine, 'The program and its arguments.', { example: ['/usr/local/bin/k0s', 'status'] }),
    }),
    'A program that undoes what the bootstrapper did, before another attempt and for `machineadm reset`.',
    { absent: 'nothing is undone', example: { command: ['/usr/local/bin/k0s', 'reset'] } },
  ),
  retry: field(retry, 'How often the bootstrapper is tried where the cause of a failure may be temporary.', {
    absent: '3 attempts',
    example: { attempts: 2 },
  }),
});

export const bootstrapper = object({
  kubeadm: field(kubeadm, 'Settings of kubeadm. Excludes exec.', {
    absent: 'the defaults of kubeadm',
    example: { skipPhases: ['addon/kube-proxy'] },
  }),
  exec: field(exec, 'A program that takes the place of kubeadm. Excludes kubeadm.', {
    absent: 'kubeadm',
    example: { command: '/usr/local/bin/bootstrap-k0s' },
  }),
});

export type BootstrapperSection = z.infer<typeof bootstrapper>;
