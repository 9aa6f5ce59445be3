import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import * as z from 'zod';
import type { Api } from '../cluster/api.ts';

/**
 * How a request proves that the API server sent it. `Unauthenticated` proves nothing: whoever reaches the port may ask, and
 * gets at most the own text, converted. No credential and no secret of a profile is in such an answer.
 */
export const CALLER_PROOFS = ['Unauthenticated', 'ClientCertificate', 'FrontProxy', 'Token'] as const;
export type CallerProof = (typeof CALLER_PROOFS)[number];

export interface CallerOptions {
  readonly proof: CallerProof;
  /** PEM file of `ClientCertificate`. */
  readonly authorities: string | undefined;
  readonly names: readonly string[];
}

/** Decides whether a request may be answered. */
export interface Callers {
  readonly isProven: boolean;
  /** Authorities of client certificates, read again; undefined = the server asks for no certificate. */
  authorities(): Promise<string | undefined>;
  /** Why a request is refused, by its headers and connection alone; undefined = it is accepted. */
  refusal(request: IncomingMessage, signal: AbortSignal): Promise<string | undefined>;
}

/** The user of the API server when it calls itself through its aggregation layer (apiserver, LoopbackClientConfig). */
const LOOPBACK_USER = 'system:apiserver';
const FRONT_PROXY = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication';
/** A token must be meant for the translator: one for the API server would be worth stealing from it. */
const AUDIENCE = 'machineadm-translator';
const TOKEN_KEPT_MS = 60_000;
const MOST_TOKENS = 64;

const Published = z.looseObject({ data: z.record(z.string(), z.string()) });
const Review = z.looseObject({
  status: z.looseObject({
    authenticated: z.boolean().optional(),
    audiences: z.array(z.string()).optional(),
    user: z.looseObject({ username: z.string() }).optional(),
  }),
});

/** The callers of one kind of proof. */
export function callersBy({ proof, authorities, names }: CallerOptions, api: Api): Callers {
  if (proof === 'ClientCertificate') {
    return {
      isProven: true,
      authorities: async () => await readFile(authorities ?? '', 'utf8'),
      refusal: async (request) => certificateRefusal(request, names),
    };
  }
  if (proof === 'FrontProxy') return frontProxy(api, names);
  if (proof === 'Token') return tokenReview(api, names);
  return { isProven: false, authorities: async () => undefined, refusal: async () => undefined };
}

function certificateRefusal({ socket }: IncomingMessage, names: readonly string[]): string | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return 'no valid client certificate';
  return names.length === 0 || commonNames(socket).some((name) => names.includes(name))
    ? undefined
    : 'the client certificate has another name';
}

/** Of connections: decoding a certificate takes as much time as reading a review. */
const KNOWN_NAMES = new WeakMap<TLSSocket, readonly string[]>();

function commonNames(socket: TLSSocket): readonly string[] {
  const known = KNOWN_NAMES.get(socket);
  if (known !== undefined) return known;
  const names = [socket.getPeerCertificate().subject.CN].flat().filter((name) => name !== undefined);
  KNOWN_NAMES.set(socket, names);
  return names;
}

/**
 * The API server calls its own aggregation layer, which calls the translator with the front proxy's certificate and the name
 * of the user (k8s docs, configure the aggregation layer). Any user who may create a review through the API server gets there,
 * so the user must be the API server itself.
 */
function frontProxy(api: Api, names: readonly string[]): Callers {
  let allowed: readonly string[] = [];
  let headers: readonly string[] = ['X-Remote-User'];
  const users = names.length === 0 ? [LOOPBACK_USER] : names;
  return {
    isProven: true,
    async authorities() {
      const { data } = Published.parse(await api.request({ path: FRONT_PROXY }));
      const authorities = data['requestheader-client-ca-file'];
      if (authorities === undefined) throw new Error('the API server has no aggregation layer: no front proxy');
      const list = z.array(z.string());
      allowed = list.parse(JSON.parse(data['requestheader-allowed-names'] ?? '[]'));
      headers = list.min(1).parse(JSON.parse(data['requestheader-username-headers'] ?? '["X-Remote-User"]'));
      return authorities;
    },
    async refusal(request) {
      const refused = certificateRefusal(request, allowed);
      if (refused !== undefined) return refused;
      const user = headers.map((name) => request.headers[name.toLowerCase()]).find((value) => value !== undefined);
      return typeof user === 'string' && users.includes(user) ? undefined : 'another user of the front proxy';
    },
  };
}

/** The API server sends a token, by its AdmissionConfiguration, and is asked whose it is. */
function tokenReview(api: Api, names: readonly string[]): Callers {
  /** Digests of tokens that were accepted, and until when. */
  const accepted = new Map<string, number>();
  return {
    isProven: true,
    authorities: async () => undefined,
    async refusal({ headers }, signal) {
      const token = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1];
      if (token === undefined) return 'no bearer token';
      const digest = createHash('sha256').update(token).digest('hex');
      if ((accepted.get(digest) ?? 0) > performance.now()) return undefined;
      const body = {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenReview',
        spec: { token, audiences: [AUDIENCE] },
      };
      const path = '/apis/authentication.k8s.io/v1/tokenreviews';
      const { status } = Review.parse(await api.request({ method: 'POST', path, body, signal }));
      // An API server that does not know audiences would answer without them.
      const isMeant = status.audiences?.includes(AUDIENCE) === true;
      if (status.authenticated !== true || !isMeant || !names.includes(status.user?.username ?? '')) {
        return 'the bearer token is not that of the API server';
      }
      if (accepted.size >= MOST_TOKENS) accepted.clear();
      accepted.set(digest, performance.now() + TOKEN_KEPT_MS);
      return undefined;
    },
  };
}
