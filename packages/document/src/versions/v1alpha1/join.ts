import * as z from 'zod';
import { absolutePath, certificatePem, environmentVariable, hostPort, secret, url } from './fields.ts';

/** `kubernetes.join`: how a machine finds its cluster, and how both prove who they are. */

const token = z.strictObject({
  token: secret,
  endpoint: hostPort,
  caCertHashes: z
    .array(z.string().regex(/^sha256:[0-9a-f]{64}$/, 'not a CA hash: "sha256:" and 64 hex digits'))
    .optional(),
  unsafeSkipCAVerification: z.boolean().optional(),
});

const user = z.union(
  [
    z.strictObject({
      exec: z.strictObject({
        command: z.string().min(1),
        args: z.array(z.string()).optional(),
        env: z.array(environmentVariable).optional(),
        apiVersion: z.enum(['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1']).optional(),
        provideClusterInfo: z.boolean().optional(),
      }),
    }),
    z.strictObject({ token: secret }),
  ],
  { error: 'expected {exec: {command, …}} or {token}' },
);

const kubeconfig = z.strictObject({
  server: url('https', 'not an https URL, such as https://api.example:6443'),
  tlsServerName: z.string().min(1).optional(),
  insecureSkipTLSVerify: z.boolean().optional(),
  certificateAuthority: certificatePem.optional(),
  proxyURL: url('proxy', 'not an http, https or socks5 URL').optional(),
  user: user.optional(),
});

const file = z.strictObject({
  path: absolutePath.optional(),
  kubeconfig: kubeconfig.optional(),
});

export const join = z.strictObject({
  discovery: z.strictObject({ token: token.optional(), file: file.optional() }),
  tlsBootstrapToken: secret.optional(),
  caCertPath: absolutePath.optional(),
});

export type JoinSection = z.infer<typeof join>;
