import assert from 'node:assert/strict';
import { type RequestOptions, request } from 'node:https';
import { requestOnce } from '../../src/host/http/request-once.ts';
import type { KubeApiServer, Method } from './kube-apiserver.ts';

/** Users of a management cluster with few rights, and what they leave behind. */

const RBAC = '/apis/rbac.authorization.k8s.io/v1';

export interface Answered {
  /** The HTTP status. */
  readonly code: number;
  /** Of a refusal: the reason and message of the Status. */
  readonly reason?: string;
  readonly message?: string;
  readonly [key: string]: unknown;
}

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** A user with rights in one namespace. */
export class Tenant {
  readonly name: string;
  readonly #server: KubeApiServer;

  private constructor(server: KubeApiServer, name: string) {
    this.#server = server;
    this.name = name;
  }

  static async create(server: KubeApiServer, name: string, namespace: string, rules: readonly Rule[]): Promise<Tenant> {
    const roles = `${RBAC}/namespaces/${namespace}`;
    await server.ask('POST', `${roles}/roles`, { metadata: { name }, rules });
    await server.ask('POST', `${roles}/rolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }],
    });
    return new Tenant(server, name);
  }

  /** A request in this user's name, which the API server authorizes by the user's own rights. */
  async ask(method: Method, path: string, body?: object, contentType = 'application/json'): Promise<Answered> {
    return await askWith(this.#server, method, path, body, contentType, {
      'impersonate-user': this.name,
      'impersonate-group': 'system:authenticated',
    });
  }
}

/** A request of the administrator, or of the token that the headers have. */
export async function askWith(
  server: KubeApiServer,
  method: Method,
  path: string,
  body?: object,
  contentType = 'application/json',
  headers: Readonly<Record<string, string>> = {},
): Promise<Answered> {
  const answer = await requestOnce(new URL(path, server.url), {
    method,
    headers: {
      authorization: `Bearer ${server.admin.token?.reveal() ?? ''}`,
      'content-type': contentType,
      ...headers,
    },
    ca: server.certificateAuthority,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(120_000),
  });
  const value = JSON.parse(answer.body) as object;
  return { ...value, code: answer.status };
}

/** The answer is a refusal of this status and reason; `message` is a part of what it says. */
export function assertRefused(answer: Answered, status: number, reason: string, message: RegExp): void {
  assert.deepEqual([answer.code, answer.reason], [status, reason], JSON.stringify(answer));
  assert.match(answer.message ?? '', message);
}

interface Resources {
  readonly resources: readonly {
    readonly name: string;
    readonly namespaced: boolean;
    readonly verbs: readonly string[];
  }[];
}
interface Listed {
  readonly items: readonly {
    readonly metadata: { readonly namespace?: string; readonly name: string; readonly resourceVersion: string };
  }[];
}

/**
 * Every object in namespaces, with its version; and the webhooks and roles of the cluster. Leases are left out, because the
 * leader renews its own.
 */
export async function inventory(server: KubeApiServer, namespaces?: readonly string[]): Promise<readonly string[]> {
  const { groups } = (await server.ask('GET', '/apis')) as {
    groups: { preferredVersion: { groupVersion: string } }[];
  };
  const roots = ['/api/v1', ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`)];
  const ofCluster = ['clusterroles', 'clusterrolebindings', 'mutatingwebhookconfigurations', 'namespaces'];
  const found: string[] = [];
  for (const root of roots) {
    const { resources } = (await server.ask('GET', root)) as Resources;
    for (const { name, namespaced, verbs } of resources) {
      if (name.includes('/') || name === 'leases' || !verbs.includes('list')) continue;
      if (!namespaced && !ofCluster.includes(name)) continue;
      const { items } = (await server.ask('GET', `${root}/${name}`)) as Listed;
      for (const { metadata } of items)
        if (namespaces === undefined || namespaces.includes(metadata.namespace ?? ''))
          found.push(`${name} ${metadata.namespace ?? ''}/${metadata.name} ${metadata.resourceVersion}`);
    }
  }
  return found.sort();
}

/** Sends a body to the webhook itself. */
export async function postTo(
  port: number,
  body: string,
  options: RequestOptions = {},
): Promise<{ readonly status: number; readonly text: string }> {
  return await new Promise((resolve, reject) => {
    const sent = request({
      host: '127.0.0.1',
      port,
      path: '/translate',
      method: 'POST',
      agent: false,
      rejectUnauthorized: false,
      ...options,
    });
    sent.once('error', reject).once('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.end(body);
  });
}
