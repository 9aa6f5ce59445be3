import * as z from 'zod';
import type { Finding } from '../../../diagnostics.ts';
import type { ClusterAccess, KubernetesSinkModel, NodeSinkModel } from '../../../model-sinks/kubernetes.ts';
import type { ResolveSecret } from '../convert-values.ts';
import { absolutePath, certificatePem, dnsSubdomain, httpsUrl, secret } from '../fields.ts';
import { remoteFields, tlsFields, toRemoteOptions } from './fields.ts';

/** RFC 1123 label, as Kubernetes demands of the names of namespaces. */
const namespace = z
  .string()
  .regex(
    /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
    'not the name of a namespace: use lower-case letters, digits and "-" (RFC 1123)',
  );

export const kubernetesSink = z.strictObject({
  type: z.literal('Kubernetes'),
  kubeconfig: secret.optional(),
  server: httpsUrl.optional(),
  tlsServerName: dnsSubdomain.optional(),
  certificateAuthority: certificatePem.optional(),
  token: secret.optional(),
  clientCertificate: tlsFields.clientCertificate,
  configMap: z.strictObject({ namespace, name: dnsSubdomain }),
  ...remoteFields,
  events: remoteFields.events,
});

export const nodeSink = z.strictObject({
  type: z.literal('Node'),
  kubeconfig: absolutePath.optional(),
  ...remoteFields,
  events: remoteFields.events,
});

/** What of a sink that writes to the management cluster only its fields together show. */
export function checkKubernetesSink(section: z.infer<typeof kubernetesSink>, path: Finding['path']): Finding[] {
  const { kubeconfig, server, tlsServerName, certificateAuthority, token, clientCertificate } = section;
  const parts = { server, tlsServerName, certificateAuthority, token, clientCertificate };
  if (kubeconfig !== undefined) {
    return Object.entries(parts).flatMap(([name, value]) =>
      value === undefined
        ? []
        : [{ path: [...path, name], message: 'the kubeconfig says this already', hint: 'keep one of them' }],
    );
  }
  const findings: Finding[] = [];
  for (const name of ['server', 'certificateAuthority'] as const) {
    if (parts[name] !== undefined) continue;
    const hint = 'give server, certificateAuthority and token, or a kubeconfig that holds them';
    findings.push({ path, message: `${name} is not given`, hint, about: [...path, name] });
  }
  if (token === undefined && clientCertificate === undefined) {
    const about = [...path, 'token'];
    findings.push({ path, message: 'neither token nor clientCertificate is given', hint: 'give one of them', about });
  } else if (token !== undefined && clientCertificate !== undefined) {
    const message = 'token and clientCertificate exclude each other';
    findings.push({ path: [...path, 'clientCertificate'], message, hint: 'keep one of them' });
  }
  return findings;
}

export function toKubernetesSink(
  section: z.infer<typeof kubernetesSink>,
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

function toAccess(section: z.infer<typeof kubernetesSink>, name: string, resolve: ResolveSecret): ClusterAccess {
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

/** The Node exists only once the machine has joined: by itself the sink is told nothing before the end of a run. */
export function toNodeSink(section: z.infer<typeof nodeSink>, name: string): NodeSinkModel {
  return {
    kind: 'Node',
    ...toRemoteOptions(section, name),
    events: section.events ?? ['concluded', 'readinessChanged'],
    kubeconfig: section.kubeconfig,
  };
}
