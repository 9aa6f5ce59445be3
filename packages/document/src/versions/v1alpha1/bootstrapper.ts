import * as z from 'zod';
import { absolutePath, duration, environmentVariable } from './fields.ts';

/** `kubernetes.bootstrapper`: what turns the prepared host into a node. */

const retry = z.strictObject({
  attempts: z.int().min(1).max(3, 'at most 3: after that, replacing the machine is the better answer').optional(),
  backoff: duration.optional(),
});

const patch = z
  .strictObject({
    target: z.enum([
      'etcd',
      'kube-apiserver',
      'kube-controller-manager',
      'kube-scheduler',
      'kubeletconfiguration',
      'corednsdeployment',
      'kubeproxydaemonset',
    ]),
    type: z.enum(['strategic', 'merge', 'json']).optional(),
    patch: z.union([z.record(z.string(), z.unknown()), z.array(z.unknown()).min(1)], {
      error: 'expected a map, or for the type json a list of operations',
    }),
  })
  .refine(({ type, patch: content }) => Array.isArray(content) === (type === 'json'), {
    error: 'the type json takes a list of operations (RFC 6902), the others a map',
    path: ['patch'],
  });

const COMPONENT_CONFIGURATIONS: Readonly<Record<string, string>> = {
  KubeletConfiguration: 'kubelet.config.k8s.io/v1beta1',
  KubeProxyConfiguration: 'kubeproxy.config.k8s.io/v1alpha1',
};

/** kubeadm's own kinds are what the rest of the document says: they have no place here. */
const extraDocument = z
  .looseObject({
    apiVersion: z.string(),
    kind: z.string().refine((kind) => Object.hasOwn(COMPONENT_CONFIGURATIONS, kind), {
      error: 'expected KubeletConfiguration or KubeProxyConfiguration; what kubeadm itself takes has fields of its own',
      abort: true,
    }),
  })
  .refine(({ apiVersion, kind }) => COMPONENT_CONFIGURATIONS[kind] === apiVersion, {
    error: ({ input }) => `expected ${COMPONENT_CONFIGURATIONS[kindOf(input)] ?? 'the API version of the kind'}`,
    path: ['apiVersion'],
  });

function kindOf(input: unknown): string {
  return typeof input === 'object' && input !== null && 'kind' in input ? String(input.kind) : '';
}

const kubeadm = z.strictObject({
  verbosity: z
    .int()
    .min(0)
    .max(5, 'at most 5: above, kubeadm prints the bodies of requests, Secrets among them')
    .optional(),
  skipPhases: z.array(z.string().regex(/^[a-z0-9-]+(?:\/[a-z0-9-]+)*$/, 'not the name of a phase')).optional(),
  ignorePreflightErrors: z.array(z.string().min(1)).optional(),
  patches: z
    .union([z.array(patch), z.strictObject({ directory: absolutePath })], {
      error: 'expected a list of {target, type, patch}, or {directory}',
    })
    .optional(),
  extraDocuments: z.array(extraDocument).optional(),
  retry: retry.optional(),
});

/** A program and its arguments. */
const commandLine = z.array(z.string()).min(1);

const exec = z.strictObject({
  command: z
    .string()
    .regex(/^(?:\/[^\0\n]+|[A-Za-z0-9._+-]+)$/, 'not a program: an absolute path, or a name without "/"'),
  args: z.array(z.string()).optional(),
  env: z.array(environmentVariable).optional(),
  timeout: duration.optional(),
  successTest: z.strictObject({ command: commandLine }).optional(),
  failurePatterns: z
    .array(
      z.strictObject({
        pattern: z.string().min(1).max(500),
        reason: z.string().min(1),
        remedy: z.string().min(1).optional(),
        retryable: z.boolean().optional(),
      }),
    )
    .optional(),
  reset: z.strictObject({ command: commandLine }).optional(),
  retry: retry.optional(),
});

export const bootstrapper = z.strictObject({
  kubeadm: kubeadm.optional(),
  exec: exec.optional(),
});

export type BootstrapperSection = z.infer<typeof bootstrapper>;
