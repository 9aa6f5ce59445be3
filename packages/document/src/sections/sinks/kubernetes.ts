import type { Finding } from '../../diagnostics/index.ts';
import { certificatePem, EXAMPLE_CERTIFICATE } from '../../fields/certificates.ts';
import { all, exactlyOne, has, when, without } from '../../fields/conditions.ts';
import type { ResolveSecret } from '../../fields/convert-values.ts';
import { field, object } from '../../fields/field.ts';
import { absolutePath, dnsSubdomain, httpsUrl, secret } from '../../fields/types.ts';
import * as z from '../../schema/zod.ts';
import type { SecretValue } from '../../secrets/secret.ts';
import { eventTypes, type RemoteOptions, remoteFields, sinkSchema, tlsFields, toRemoteOptions } from './sink.ts';

/** A ConfigMap of the management cluster, there before this machine is. */
export interface KubernetesSinkModel extends RemoteOptions {
  readonly kind: 'Kubernetes';
  readonly access: ClusterAccess;
  readonly configMap: { readonly namespace: string; readonly name: string };
}

/** How to reach the API server and prove who asks. */
export type ClusterAccess =
  | { readonly kubeconfig: SecretValue }
  | {
      /** `https://host:port`, with a path where clusters share a server. */
      readonly server: string;
      /** The name in the server's certificate where it is not the host of `server`. */
      readonly serverName: string | undefined;
      /** PEM; nobody else is trusted. */
      readonly certificateAuthority: string;
      readonly credential:
        | { readonly token: SecretValue }
        | { readonly certificate: string; readonly key: SecretValue };
    };

/** This machine's own Node in its own cluster. */
export interface NodeSinkModel extends RemoteOptions {
  readonly kind: 'Node';
  /** The kubelet's; undefined = where kubeadm writes it. */
  readonly kubeconfig: string | undefined;
}

/** RFC 1123 label, as Kubernetes demands of the names of namespaces. */
const namespace = z
  .string()
  .regex(
    /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
    'not the name of a namespace: use lower-case letters, digits and "-" (RFC 1123)',
  );

const kubernetesSchema = sinkSchema(
  'Kubernetes',
  'The conditions of this machine in a ConfigMap of the management cluster.',
  {
    kubeconfig: { secret: 'managementKubeconfig' },
    configMap: { namespace: 'clusters', name: 'prod-a-worker-0-status' },
  },
  {
    kubeconfig: field(
      secret,
      'A kubeconfig for the management cluster, instead of server, certificateAuthority and token or clientCertificate. It may not refer to files.',
      {
        absent: 'server, certificateAuthority and a credential say the same',
        example: { secret: 'managementKubeconfig' },
      },
    ),
    server: field(
      httpsUrl,
      'The URL of the API server of the management cluster. It is reached directly, not through host.proxy. Needed unless kubeconfig is given.',
      { absent: 'kubeconfig holds it', example: 'https://management.example:6443' },
    ),
    tlsServerName: field(dnsSubdomain, 'The name that the certificate of the server must have.', {
      absent: 'the host of server',
      example: 'kubernetes.default',
    }),
    certificateAuthority: field(
      certificatePem,
      'The PEM certificates of the authority that signs for the API server of the management cluster. No other authority is accepted. Needed unless kubeconfig is given.',
      { absent: 'kubeconfig holds it', example: EXAMPLE_CERTIFICATE },
    ),
    token: field(secret, 'A bearer token, such as one of a ServiceAccount. Excludes clientCertificate.', {
      absent: 'clientCertificate or kubeconfig holds the credential',
      example: { secret: 'managementToken' },
    }),
    clientCertificate: tlsFields.clientCertificate,
    configMap: field(
      object({
        namespace: field(namespace, 'The namespace of the ConfigMap.', { example: 'clusters' }),
        name: field(dnsSubdomain, 'The name of the ConfigMap.', { example: 'prod-a-worker-0-status' }),
      }),
      'The ConfigMap that gets the conditions of this machine. It must exist; the machine needs the permission to patch it, and no other.',
      { example: { namespace: 'clusters', name: 'prod-a-worker-0-status' } },
    ),
    ...remoteFields,
    events: field(eventTypes, 'The events that are delivered.', {
      default: ['started', 'concluded', 'readinessChanged'],
      example: ['concluded'],
    }),
  },
  () => [
    when(
      has('kubeconfig'),
      without('server', 'tlsServerName', 'certificateAuthority', 'token', 'clientCertificate'),
      all(has('server', 'certificateAuthority'), exactlyOne('token', 'clientCertificate')),
    ),
  ],
);

const nodeSchema = sinkSchema(
  'Node',
  'The conditions of this machine on its own Node, written with the credential of the kubelet.',
  {},
  {
    kubeconfig: field(
      absolutePath,
      'The kubeconfig of the kubelet, whose credential writes the conditions onto the Node.',
      { default: '/etc/kubernetes/kubelet.conf', example: '/var/lib/kubelet/kubeconfig' },
    ),
    ...remoteFields,
    events: field(eventTypes, 'The events that are delivered. The Node exists only after the machine has joined.', {
      default: ['concluded', 'readinessChanged'],
      example: ['concluded'],
    }),
  },
);

/** What of a sink that writes to the management cluster only its fields together show. */
function checkKubernetesSink(section: z.infer<typeof kubernetesSchema>, path: Finding['path']): Finding[] {
  const { kubeconfig, server, tlsServerName, certificateAuthority, token, clientCertificate } = section;
  const parts = { server, tlsServerName, certificateAuthority, token, clientCertificate };
  if (kubeconfig !== undefined) {
    return Object.entries(parts).flatMap(([name, value]) =>
      value === undefined
        ? []
        : [{ path: [...path, name], message: 'the kubeconfig already has this', hint: 'keep one of them' }],
    );
  }
  const findings: Finding[] = [];
  for (const name of ['server', 'certificateAuthority'] as const) {
    if (parts[name] !== undefined) continue;
    const hint = 'give server, certificateAuthority and token, or a kubeconfig that holds them';
    findings.push({
      path,
      message: `${name} is not given`,
      hint,
      about: [
        [...path, name],
        [...path, 'kubeconfig'],
      ],
    });
  }
  if (token === undefined && clientCertificate === undefined) {
    const about = ['token', 'clientCertificate', 'kubeconfig'].map((name) => [...path, name]);
    findings.push({ path, message: 'neither token nor clientCertificate is given', hint: 'give one of them', about });
  } else if (token !== undefined && clientCertificate !== undefined) {
    const message = 'token and clientCertificate exclude each other';
    findings.push({ path: [...path, 'clientCertificate'], message, hint: 'keep one of them' });
  }
  return findings;
}

function toKubernetesSink(
  section: z.infer<typeof kubernetesSchema>,
  name: string,
  resolve: ResolveSecret,
): KubernetesSinkModel {
  return {
    kind: 'Kubernetes',
    ...toRemoteOptions(section, name),
    events: section.events ?? ['started', 'concluded', 'readinessChanged'],
    access: toAccess(section, name, resolve),
    configMap: section.configMap,
  };
}

function toAccess(section: z.infer<typeof kubernetesSchema>, name: string, resolve: ResolveSecret): ClusterAccess {
  const { kubeconfig, server, tlsServerName, certificateAuthority, token, clientCertificate: client } = section;
  if (kubeconfig !== undefined) return { kubeconfig: resolve(kubeconfig, `the kubeconfig of the sink ${name}`) };
  if (certificateAuthority === undefined) throw new TypeError(`sink ${name} was not checked`);
  // It is missing only while its variable is not known, as in `validate`: nothing is sent then.
  const reached = { server: server ?? '', serverName: tlsServerName, certificateAuthority };
  if (token !== undefined) {
    return { ...reached, credential: { token: resolve(token, `the token of the sink ${name}`) } };
  }
  if (client === undefined) throw new TypeError(`sink ${name} was not checked`);
  const key = resolve(client.key, `the key of the client certificate of the sink ${name}`);
  return { ...reached, credential: { certificate: client.certificate, key } };
}

/** The Node exists only once the machine has joined, so by default the sink gets only the end of a run. */
function toNodeSink(section: z.infer<typeof nodeSchema>, name: string): NodeSinkModel {
  return {
    kind: 'Node',
    ...toRemoteOptions(section, name),
    events: section.events ?? ['concluded', 'readinessChanged'],
    kubeconfig: section.kubeconfig,
  };
}

export const kubernetes = { schema: kubernetesSchema, check: checkKubernetesSink, toModel: toKubernetesSink };

export const node = { schema: nodeSchema, toModel: toNodeSink };
