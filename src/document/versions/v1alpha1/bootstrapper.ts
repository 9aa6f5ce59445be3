import * as z from 'zod';
import { absolutePath, duration, environmentVariable } from './fields.ts';

/** `kubernetes.bootstrapper`: what turns the prepared host into a node. */

const retry = z.strictObject({
  attempts: z.int().min(1).max(3, 'at most 3: after that, replacing the machine is the better answer').optional(),
  backoff: duration.optional().describe('Before the second attempt, doubled before the third; default 10s.'),
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
    ]),
    type: z.enum(['strategic', 'merge', 'json']).optional().describe('Default strategic.'),
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
  ignorePreflightErrors: z.array(z.string().min(1)).optional().describe('Names of preflight checks, or "all".'),
  patches: z
    .union([z.array(patch), z.strictObject({ directory: absolutePath })], {
      error: 'expected a list of {target, type, patch}, or {directory}',
    })
    .optional(),
  extraDocuments: z
    .array(extraDocument)
    .optional()
    .describe('Configuration of the kubelet and of kube-proxy, as it is.'),
  retry: retry.optional().describe('Default: 3 attempts where the cause of a failure may pass.'),
});

/** A program and its arguments. */
const commandLine = z.array(z.string()).min(1).describe('Program and arguments.');

const exec = z.strictObject({
  command: z
    .string()
    .regex(/^(?:\/[^\x00\n]+|[A-Za-z0-9._+-]+)$/, 'not a program: an absolute path, or a name without "/"')
    .describe('Gets the order (role, cluster, node, join, …) as JSON on standard input.'),
  args: z.array(z.string()).optional().describe('Visible to every user: no secrets.'),
  env: z.array(environmentVariable).optional(),
  timeout: duration.optional().describe('Default 20m.'),
  successTest: z.strictObject({ command: commandLine }).optional().describe('Ends with status 0 once the node works.'),
  failurePatterns: z
    .array(
      z.strictObject({
        pattern: z.string().min(1).max(500).refine(isPattern, 'not a regular expression'),
        reason: z.string().min(1).describe('What went wrong, a sentence.'),
        remedy: z.string().min(1).optional(),
        retryable: z.boolean().optional().describe('Whether another attempt may succeed; default false.'),
      }),
    )
    .optional()
    .describe('Tried on every line in order, once the program has failed.'),
  reset: z
    .strictObject({ command: commandLine })
    .optional()
    .describe('Undoes it: before another attempt, and for reset.'),
  retry: retry.optional(),
});

function isPattern(text: string): boolean {
  try {
    new RegExp(text);
    return true;
  } catch {
    return false;
  }
}

export const bootstrapper = z.strictObject({
  kubeadm: kubeadm.optional(),
  exec: exec.optional().describe("A program in kubeadm's place."),
});

export type BootstrapperSection = z.infer<typeof bootstrapper>;
