import { askHttps } from './https.ts';
import type { ClusterCredential } from './kubeconfig.ts';
import { member, text } from './untyped.ts';

/** What came of asking an API server for one object. */
export type Answer<Found> =
  | { readonly kind: 'found'; readonly object: Found }
  | { readonly kind: 'absent' }
  /** It answered, and not with the object: 401, 403, 5xx. */
  | { readonly kind: 'refused'; readonly status: number; readonly why: string }
  /** No connection, no answer in time, or half an answer. */
  | { readonly kind: 'unreachable'; readonly why: string }
  /** Something answered that this credential's authority did not sign, or that refuses the credential itself. */
  | { readonly kind: 'untrusted'; readonly why: string };

/** The parts of a Node that tell whose it is and whether it works. */
export interface NodeView {
  readonly name: string;
  readonly machineId: string;
  readonly bootId: string;
  readonly providerId: string;
  /** The condition `Ready`; undefined before the kubelet first reports. */
  readonly ready: { readonly status: string; readonly reason: string; readonly message: string } | undefined;
  /** True once kubeadm's phase mark-control-plane labelled it. */
  readonly controlPlane: boolean;
}

/** One request may take this long, in milliseconds. */
const REQUEST_TIMEOUT_MS = 10_000;

/** GETs a Node by its name. Never throws but for `signal`. */
export async function getNode(
  credential: ClusterCredential,
  name: string,
  signal?: AbortSignal,
): Promise<Answer<NodeView>> {
  const answer = await getObject(credential, `/api/v1/nodes/${encodeURIComponent(name)}`, signal);
  return answer.kind === 'found' ? { kind: 'found', object: viewNode(answer.object) } : answer;
}

/**
 * GETs one object of the API. The server's certificate is always verified against the credential's authority.
 */
export async function getObject(
  credential: ClusterCredential,
  path: string,
  signal?: AbortSignal,
  timeoutMs: number = REQUEST_TIMEOUT_MS,
): Promise<Answer<unknown>> {
  signal?.throwIfAborted();
  const deadline = AbortSignal.timeout(timeoutMs);
  try {
    const { status, body } = await askHttps(new URL(path, credential.server), {
      headers: { accept: 'application/json', 'user-agent': 'machineadm' },
      ca: credential.certificateAuthority,
      cert: credential.certificate,
      key: credential.key.reveal(),
      ...(credential.serverName === undefined ? {} : { servername: credential.serverName }),
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    });
    return interpret(status, body);
  } catch (error) {
    signal?.throwIfAborted();
    if (deadline.aborted) {
      return { kind: 'unreachable', why: `${credential.server.host} did not answer within ${timeoutMs / 1000} s` };
    }
    const why = `${credential.server.host}: ${describe(error)}`;
    return { kind: isTrustFailure(error) ? 'untrusted' : 'unreachable', why };
  }
}

function interpret(status: number, body: string): Answer<unknown> {
  let object: unknown;
  try {
    object = JSON.parse(body);
  } catch {
    if (status === 200) return { kind: 'refused', status, why: 'the answer is not JSON' };
  }
  if (status === 200) return { kind: 'found', object };
  const message = text(member(object, 'message'));
  // A 404 of the API is a Status object with this reason; any other is a proxy's or a wrong server's.
  if (status === 404 && text(member(object, 'reason')) === 'NotFound') return { kind: 'absent' };
  const why = `the API server answered ${status}${message === undefined ? '' : `: ${message}`}`;
  return status === 401 ? { kind: 'untrusted', why } : { kind: 'refused', status, why };
}

/** Codes of Node's TLS layer that mean the other side is not who the credential knows, and alerts about our own. */
const TRUST_FAILURES =
  /^(ERR_TLS_CERT_ALTNAME_INVALID|CERT_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|ERR_SSL_.*(ALERT|KEY|CERT)|ERR_OSSL_)/;

function isTrustFailure(error: unknown): boolean {
  return TRUST_FAILURES.test(text(member(error, 'code')) ?? '');
}

function describe(error: unknown): string {
  // Happy-eyeballs failures are an AggregateError with an empty message.
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return inner instanceof Error && inner.message !== ''
    ? inner.message
    : (text(member(error, 'code')) ?? String(inner));
}

function viewNode(object: unknown): NodeView {
  const info = member(member(object, 'status'), 'nodeInfo');
  const conditions = member(member(object, 'status'), 'conditions');
  const ready: unknown = Array.isArray(conditions)
    ? conditions.find((condition) => member(condition, 'type') === 'Ready')
    : undefined;
  const labels = member(member(object, 'metadata'), 'labels');
  return {
    name: text(member(member(object, 'metadata'), 'name')) ?? '',
    machineId: text(member(info, 'machineID')) ?? '',
    bootId: text(member(info, 'bootID')) ?? '',
    providerId: text(member(member(object, 'spec'), 'providerID')) ?? '',
    ready:
      ready === undefined
        ? undefined
        : {
            status: text(member(ready, 'status')) ?? '',
            reason: text(member(ready, 'reason')) ?? '',
            message: text(member(ready, 'message')) ?? '',
          },
    // kubeadm before 1.20 knew only the older label (k/k cmd/kubeadm/app/constants: LabelNodeRoleOldControlPlane).
    controlPlane:
      member(labels, 'node-role.kubernetes.io/control-plane') !== undefined ||
      member(labels, 'node-role.kubernetes.io/master') !== undefined,
  };
}
