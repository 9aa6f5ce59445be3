import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { connect } from 'node:tls';
import { SelfManagedCertificate } from '@machineadm/translator/certificates/self-managed.ts';
import { newServingCertificate } from '@machineadm/translator/certificates/x509.ts';
import { type Api, ApiError, type Request } from '@machineadm/translator/cluster/api.ts';
import * as z from 'zod';

const DAY_MS = 86_400_000;
const DNS = [
  'machineadm-translator.machineadm-system.svc',
  'machineadm-translator.machineadm-system.svc.cluster.local',
];
const NOW = new Date('2026-11-23T00:00:00Z');

describe('newServingCertificate', () => {
  test('makes a certificate that OpenSSL verifies by its authority, for its names only', async () => {
    const { certificate, key, authority } = newServingCertificate({
      dnsNames: DNS,
      notBefore: new Date(Date.now() - 60_000),
      notAfter: new Date(Date.now() + DAY_MS),
    });
    const server = createServer({ cert: certificate, key });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const error = (ca: string, servername: string) =>
      new Promise<string | undefined>((resolve) => {
        const socket = connect({ host: '127.0.0.1', port, ca, servername }, () => {
          socket.destroy();
          resolve(undefined);
        });
        socket.once('error', (one: NodeJS.ErrnoException) => resolve(one.code));
      });
    const other = newServingCertificate({ dnsNames: DNS, notBefore: NOW, notAfter: new Date(NOW.getTime() + DAY_MS) });
    const found = [
      await error(authority, DNS[0] ?? ''),
      await error(authority, DNS[1] ?? ''),
      await error(other.authority + authority, DNS[0] ?? ''),
      await error(authority, 'other.svc'),
      await error(other.authority, DNS[0] ?? ''),
    ];
    server.close();
    assert.deepEqual(found.slice(0, 4), [undefined, undefined, undefined, 'ERR_TLS_CERT_ALTNAME_INVALID']);
    assert.match(found[4] ?? '', /UNABLE_TO_VERIFY_LEAF_SIGNATURE|SELF_SIGNED|UNABLE_TO_GET_ISSUER/);
  });

  test('states purpose, validity, names and key identifiers', () => {
    const notAfter = new Date('2051-01-02T03:04:05Z');
    const made = newServingCertificate({ dnsNames: DNS, notBefore: NOW, notAfter });
    const [own, authority] = [new X509Certificate(made.certificate), new X509Certificate(made.authority)];
    assert.deepEqual([own.ca, authority.ca], [false, true]);
    assert.deepEqual([own.validFromDate, own.validToDate], [NOW, notAfter]);
    assert.equal(own.subjectAltName, DNS.map((name) => `DNS:${name}`).join(', '));
    assert.deepEqual(own.keyUsage, ['1.3.6.1.5.5.7.3.1']);
    assert.ok(own.checkIssued(authority));
    assert.ok(own.checkPrivateKey(createPrivateKey(made.key)));
    assert.equal(own.subject, `CN=${DNS[0]}`);
  });
});

const Body = z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string().optional() }) });
const Patch = z.array(z.looseObject({ op: z.string(), path: z.string(), value: z.string() }));

/** An API server that keeps one Secret and one webhook configuration. */
class Store implements Api {
  readonly certificateAuthority = undefined;
  readonly calls: string[] = [];
  version = 0;
  secret: object | undefined;
  bundle: string | undefined;
  /** Called before each request. */
  before: (request: Request) => void = () => undefined;

  async request(request: Request): Promise<unknown> {
    const { method = 'GET', path, body } = request;
    this.calls.push(`${method} ${path.split('/').at(-1)}`);
    this.before(request);
    if (path.includes('mutatingwebhookconfigurations')) {
      if (method === 'PATCH') {
        for (const { op, path: at, value } of Patch.parse(body)) {
          if (op === 'test') assert.deepEqual([at, value], ['/webhooks/0/name', 'a.example']);
          else assert.deepEqual([op, at], ['add', '/webhooks/0/clientConfig/caBundle']);
          if (op === 'add') this.bundle = Buffer.from(value, 'base64').toString();
        }
      }
      const caBundle = this.bundle === undefined ? undefined : Buffer.from(this.bundle).toString('base64');
      return { webhooks: [{ name: 'a.example', clientConfig: { caBundle } }] };
    }
    if (method === 'GET') {
      if (this.secret === undefined) throw new ApiError(404, 'not found');
      return this.secret;
    }
    const sent = Body.parse(body);
    const expected = this.secret === undefined ? undefined : String(this.version);
    if (sent.metadata.resourceVersion !== expected) throw new ApiError(409, 'conflict');
    this.version += 1;
    this.secret = { ...sent, metadata: { ...sent.metadata, resourceVersion: String(this.version) } };
    return this.secret;
  }

  async watch(): Promise<void> {}
}

describe('SelfManagedCertificate', () => {
  const options = {
    namespace: 'machineadm-system',
    secretName: 'tls',
    webhookConfiguration: 'machineadm-translator',
    dnsNames: DNS,
    lifetimeMs: 90 * DAY_MS,
    overlapMs: 60_000,
  };
  const later = (days: number) => new Date(NOW.getTime() + days * DAY_MS);
  const noPause = async () => undefined;

  test('two replicas that start at once use the certificate of the first', async () => {
    const store = new Store();
    const own = new SelfManagedCertificate(store, options);
    let other: Promise<unknown> | undefined;
    store.before = ({ method }) => {
      if (method !== 'POST' || other !== undefined) return;
      other = new SelfManagedCertificate(store, options).current(NOW);
    };
    const first = await own.current(NOW);
    assert.deepEqual(await other, first);
    assert.deepEqual(await own.current(later(1)), first);
  });

  test('the leader publishes a new authority beside the old one, waits, and then stores the certificate', async () => {
    const store = new Store();
    const own = new SelfManagedCertificate(store, options);
    const first = await own.current(NOW);
    assert.equal(await own.maintain(noPause, later(59)), false);
    assert.equal(store.bundle, first.authorities);
    const calls = store.calls.length;
    assert.equal(await own.maintain(noPause, later(59)), false);
    assert.ok(!store.calls.slice(calls).some((call) => call.startsWith('P')), 'nothing to write');

    const waited: number[] = [];
    const isRenewed = await own.maintain(async (milliseconds) => {
      waited.push(milliseconds);
      assert.deepEqual(await own.current(later(61)), first, 'the old certificate is served meanwhile');
      assert.ok(store.bundle?.endsWith(first.authorities), 'the old authority is trusted still');
    }, later(61));
    assert.deepEqual([isRenewed, waited], [true, [60_000]]);
    const second = await own.current(later(61));
    assert.notEqual(second.certificate, first.certificate);
    assert.equal(second.authorities, store.bundle);
    assert.ok(new X509Certificate(second.certificate).verify(new X509Certificate(second.authorities).publicKey));

    await own.maintain(noPause, later(61 + 61));
    const third = await own.current(later(61 + 61));
    assert.equal(third.authorities.match(/BEGIN CERTIFICATE/g)?.length, 2, 'a bundle does not grow');
    assert.ok(!third.authorities.includes(first.authorities));
  });

  test('a leader that ends while it waits has stored nothing', async () => {
    const store = new Store();
    const own = new SelfManagedCertificate(store, options);
    const first = await own.current(NOW);
    await assert.rejects(
      own.maintain(async () => {
        throw new Error('ended');
      }, later(61)),
    );
    assert.deepEqual(await own.current(later(61)), first);
  });

  test('a certificate that cannot be served with is replaced', async () => {
    const store = new Store();
    const own = new SelfManagedCertificate(store, options);
    const first = await own.current(NOW);
    const expired = await own.current(later(91));
    assert.notEqual(expired.certificate, first.certificate);
    const renamed = new SelfManagedCertificate(store, { ...options, dnsNames: ['other.svc'] });
    const second = await renamed.current(later(91));
    assert.equal(new X509Certificate(second.certificate).subjectAltName, 'DNS:other.svc');
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    for (const data of [
      { 'tls.crt': 'AAAA', 'tls.key': 'AAAA', 'ca.crt': 'AAAA' },
      {
        'tls.crt': base64(second.certificate),
        'tls.key': base64(first.key),
        'ca.crt': base64(second.authorities),
      },
      undefined,
    ]) {
      store.secret = { metadata: { resourceVersion: String(store.version) }, data };
      const made = await renamed.current(later(91));
      assert.notEqual(made.certificate, second.certificate);
    }
  });
});
