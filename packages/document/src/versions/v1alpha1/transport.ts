import type { Finding, PathSegment } from '../../diagnostics/index.ts';
import {
  isPrivate,
  PRIVATE_NATS,
  type RootPorts,
  rootPorts,
  UNPRIVILEGED_PORT_START,
  whyExposed,
} from '../../fields/loopback.ts';
import { canonicalSysctlKey } from '../../host-parts/sysctl.ts';
import type { EndpointSection } from '../../sections/containerd/registries.ts';
import type { SinkSection } from '../../sections/sinks/index.ts';
import type { Sections } from './sections.ts';

/** What a request shows to everybody on its way. */
interface Request {
  readonly url: string;
  readonly headers?: Readonly<Record<string, unknown>> | undefined;
  readonly allowInsecure?: boolean | undefined;
}

/**
 * Credentials and secrets do not travel over plain http: everybody on the way could read them. They may
 * to a port of root on this machine itself, where no other user can listen, and where the document says so for that one.
 *
 * @param unprivilegedFrom the first port of this machine on which other users may listen, if the document is for this machine
 */
export function checkTransport(sections: Sections, unprivilegedFrom?: number): Finding[] {
  const findings: Finding[] = [];
  const ports = rootPorts(sections.host?.platform, unprivilegedFrom, wantedStart(sections));
  const judge = (path: readonly PathSegment[], field: string, request: Request, answer?: string): void => {
    const exposed = answer ?? credentialsOf(request);
    if (exposed === undefined || request.allowInsecure === true || isSafe(request.url, ports)) return;
    findings.push({
      path: [...path, field],
      message: `${exposed} would be ${whyExposed(request.url, ports)}, and the URL is plain http`,
      hint: hintFor('write https://', ports),
    });
  };
  for (const [name, source] of Object.entries(sections.secrets ?? {})) {
    const path = ['secrets', name];
    if ('http' in source) judge([...path, 'http'], 'url', source.http, 'the secret');
    for (const kind of ['awsSecretsManager', 'awsParameter'] as const) {
      const aws = kind in source ? Object.entries(source).find(([key]) => key === kind)?.[1] : undefined;
      if (!isAws(aws) || aws.endpoint === undefined) continue;
      judge([...path, kind], 'endpoint', { url: aws.endpoint, allowInsecure: aws.allowInsecure }, 'the secret');
    }
  }
  for (const [index, { contentFrom }] of (sections.host?.files ?? []).entries()) {
    if (contentFrom === undefined || !('http' in contentFrom)) continue;
    judge(['host', 'files', index, 'contentFrom', 'http'], 'url', contentFrom.http);
  }
  for (const [index, { url, headers, allowInsecure }] of (sections.images?.archives ?? []).entries()) {
    if (url !== undefined) judge(['images', 'archives', index], 'url', { url, headers, allowInsecure });
  }
  for (const [index, registry] of (sections.containerRuntime?.containerd?.registries ?? []).entries()) {
    const path = ['containerRuntime', 'containerd', 'registries', index];
    const { server, mirrors = [] } = registry;
    if (server !== undefined) judge(path, 'server', { ...registry, url: server }, loginOf(registry));
    for (const [at, mirror] of mirrors.entries()) judge([...path, 'mirrors', at], 'url', mirror, loginOf(mirror));
  }
  for (const [index, sink] of (sections.reporting?.sinks ?? []).entries()) {
    const path = ['reporting', 'sinks', index];
    if (sink.type === 'NATS') findings.push(...findExposedServers(sink, path, ports));
    if (sink.type === 'Webhook' || sink.type === 'OTLP') judge(path, 'url', sink);
    for (const { at, field, url, allowInsecure } of cloudRequests(sink))
      if (url !== undefined) judge([...path, ...at], field, { url, allowInsecure }, 'the identity of the machine');
  }
  return findings;
}

function loginOf({ credentials }: EndpointSection): string | undefined {
  return credentials === undefined ? undefined : 'the password';
}

/** URLs of a cloud that the document replaces. Requests there bear the identity of the machine: a token, or a signature. */
function cloudRequests(sink: SinkSection): readonly CloudRequest[] {
  switch (sink.type) {
    case 'AWS':
      return [
        { at: [], field: 'queueURL', url: sink.queueURL, allowInsecure: sink.allowInsecure },
        { at: [], field: 'endpoint', url: sink.endpoint, allowInsecure: sink.allowInsecure },
        { at: ['bucket'], field: 'endpoint', url: sink.bucket?.endpoint, allowInsecure: sink.bucket?.allowInsecure },
      ];
    case 'Azure':
      return [
        { at: [], field: 'queueURL', url: sink.queueURL, allowInsecure: sink.allowInsecure },
        { at: [], field: 'topicEndpoint', url: sink.topicEndpoint, allowInsecure: sink.allowInsecure },
      ];
    case 'GCP':
      return [{ at: [], field: 'endpoint', url: sink.endpoint, allowInsecure: sink.allowInsecure }];
    default:
      return [];
  }
}

interface CloudRequest {
  /** Below the sink. */
  readonly at: readonly PathSegment[];
  readonly field: string;
  readonly url: string | undefined;
  readonly allowInsecure: boolean | undefined;
}

function credentialsOf({ url, headers }: Request): string | undefined {
  if (Object.keys(headers ?? {}).length > 0) return 'the headers';
  const { username, password } = new URL(url);
  return username !== '' || password !== '' ? 'the credentials of the URL' : undefined;
}

/** Whether nobody else can read or listen. */
function isSafe(url: string, ports: RootPorts): boolean {
  return url.startsWith('https:') || isPrivate(url, ports);
}

function hintFor(hint: string, { why }: RootPorts): string {
  const setting =
    why?.startsWith(UNPRIVILEGED_PORT_START) === true ? `, or set ${UNPRIVILEGED_PORT_START} to 1024` : '';
  return `${hint}${setting}; allowInsecure: true beside it permits this one`;
}

/** Servers of NATS that would be ports of root by the rule of Linux, and are not on this machine; the sink refuses the others itself. */
function findExposedServers(
  { servers, credentials, allowInsecure }: Extract<SinkSection, { readonly type: 'NATS' }>,
  path: readonly PathSegment[],
  ports: RootPorts,
): readonly Finding[] {
  // JWT and nkey answer a challenge; a token and a password are sent as they are.
  const isBare = credentials !== undefined && ('token' in credentials || 'password' in credentials);
  if (!isBare || allowInsecure === true) return [];
  return servers.flatMap((server, index) =>
    !PRIVATE_NATS.test(server) || isPrivate(server, ports)
      ? []
      : [
          {
            path: [...path, 'servers', index],
            message: `the credentials would be ${whyExposed(server, ports)}, and the connection is not encrypted`,
            hint: hintFor('write tls://', ports),
          },
        ],
  );
}

/** What the document makes of the setting. */
function wantedStart({ host }: Sections): number | undefined {
  const path = canonicalSysctlKey(UNPRIVILEGED_PORT_START);
  const wanted = Object.entries(host?.sysctl ?? {}).find(([key]) => canonicalSysctlKey(key) === path)?.[1];
  return wanted === undefined || !/^\d+$/.test(String(wanted)) ? undefined : Number(wanted);
}

function isAws(value: unknown): value is { readonly endpoint?: string; readonly allowInsecure?: boolean } {
  return typeof value === 'object' && value !== null;
}
