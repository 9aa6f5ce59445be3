import { createHash } from 'node:crypto';
import { nkeys } from '@nats-io/transport-node';

/** A server's configuration in operator mode, and the credentials files of users of its one account. */
export interface NatsOperator {
  readonly configuration: string;
  /** A `.creds` file of a new user. */
  newUser(): string;
}

interface KeyPair {
  getPublicKey(): string;
  getSeed(): Uint8Array;
  sign(input: Uint8Array): Uint8Array;
}

/** Operator, account and users, as nsc makes them: JWTs that are signed with nkeys (nats-io/jwt, version 2). */
export function newOperator(): NatsOperator {
  const operator = nkeys.createOperator();
  const account = nkeys.createAccount();
  const system = nkeys.createAccount();
  const all = { subs: -1, data: -1, payload: -1, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
  const storage = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
  const accounts = [
    [account, { ...all, ...storage }],
    [system, all],
  ] as const;
  const preload = accounts.map(([pair, limits]) => {
    const claims = { limits, default_permissions: { pub: {}, sub: {} }, type: 'account', version: 2 };
    return `${pair.getPublicKey()}: ${token(operator, pair.getPublicKey(), claims)}`;
  });
  return {
    configuration: [
      `operator: ${token(operator, operator.getPublicKey(), { type: 'operator', version: 2 })}`,
      `system_account: ${system.getPublicKey()}`,
      'resolver: MEMORY',
      `resolver_preload: { ${preload.join('\n')} }`,
    ].join('\n'),
    newUser() {
      const user = nkeys.createUser();
      const claims = { pub: {}, sub: {}, subs: -1, data: -1, payload: -1, type: 'user', version: 2 };
      const jwt = token(account, user.getPublicKey(), claims);
      const seed = new TextDecoder().decode(user.getSeed());
      return [
        `-----BEGIN NATS USER JWT-----\n${jwt}\n------END NATS USER JWT------\n`,
        `-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`,
      ].join('\n');
    },
  };
}

function token(issuer: KeyPair, subject: string, nats: object): string {
  const claims = { iat: Math.floor(Date.now() / 1000), iss: issuer.getPublicKey(), name: subject, sub: subject, nats };
  const jti = createHash('sha256').update(JSON.stringify(claims)).digest('hex').toUpperCase();
  const encoded = [
    { typ: 'JWT', alg: 'ed25519-nkey' },
    { jti, ...claims },
  ].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  const signature = issuer.sign(new TextEncoder().encode(encoded.join('.')));
  return [...encoded, Buffer.from(signature).toString('base64url')].join('.');
}
