import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RegistryModel } from '@machineadm/document/model/index.ts';
import { Secret, type SecretValue } from '@machineadm/document/secrets/secret.ts';
import { parse } from 'smol-toml';
import { type RegistryFile, registryFiles } from '../../../../src/features/containerd/hosts-file.ts';
import { toTable } from '../../../../src/features/containerd/toml-text.ts';
import { registryEndpoint } from '../../../support/containerd-model.ts';

const PEM = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
const secret = (value: string): SecretValue => ({ name: 's', source: { kind: 'value', secret: new Secret(value) } });
const reveal = async ({ source }: SecretValue) => (source.kind === 'value' ? source.secret : undefined);

const registry = (different: Partial<RegistryModel>): RegistryModel => ({
  host: 'docker.io',
  server: registryEndpoint(undefined),
  fallback: true,
  mirrors: [],
  verify: undefined,
  ...different,
});

async function files(different: Partial<RegistryModel>): Promise<readonly RegistryFile[]> {
  const found = await registryFiles(registry(different), reveal);
  assert.ok(found);
  return found;
}

/** The tree of hosts.toml, which comes last. */
async function hosts(different: Partial<RegistryModel>): Promise<object> {
  const last = (await files(different)).at(-1);
  assert.equal(last?.name, 'hosts.toml');
  return toTable(parse(last.content));
}

describe('hosts.toml', () => {
  test('mirrors have tables of their own, in their order', async () => {
    const mirrors = [registryEndpoint('https://b.example'), registryEndpoint('http://a.example:80/x')];
    const [file] = await files({ mirrors });
    assert.deepEqual(
      [...(file?.content ?? '').matchAll(/^\[(.*)\]$/gm)].map(([, heading]) => heading),
      ['host."https://b.example"', 'host."http://a.example:80/x"'],
    );
    assert.deepEqual(await hosts({ mirrors }), {
      host: {
        'https://b.example': { capabilities: ['pull', 'resolve'] },
        'http://a.example:80/x': { capabilities: ['pull', 'resolve'] },
      },
    });
    assert.equal(file?.mode, 0o644);
  });

  test('everything that a mirror can be told', async () => {
    const mirror = registryEndpoint('https://m.example', {
      ca: { kind: 'file', path: '/etc/ca.pem' },
      skipVerify: true,
      overridePath: true,
      dialTimeoutMs: 1500,
      headers: { 'x-site': secret('north') },
    });
    assert.deepEqual(await hosts({ mirrors: [mirror] }), {
      host: {
        'https://m.example': {
          capabilities: ['pull', 'resolve'],
          ca: '/etc/ca.pem',
          skip_verify: true,
          override_path: true,
          dial_timeout: '1500ms',
          header: { 'X-Site': 'north' },
        },
      },
    });
  });

  test('settings of the registry itself stand at the top, and count for no mirror', async () => {
    const server = registryEndpoint('https://up.example', { capabilities: [], ca: { kind: 'file', path: '/up.pem' } });
    assert.deepEqual(await hosts({ server, mirrors: [registryEndpoint('https://m.example')] }), {
      server: 'https://up.example',
      ca: '/up.pem',
      host: { 'https://m.example': { capabilities: ['pull', 'resolve'] } },
    });
  });

  test('without mirrors there is a table all the same: 1.6 ignores a file without one', async () => {
    const server = registryEndpoint(undefined, { ca: { kind: 'file', path: '/up.pem' } });
    const of = (host: string) => hosts({ host, server });
    assert.deepEqual(await of('r.example:5000'), {
      ca: '/up.pem',
      host: { 'https://r.example:5000': { ca: '/up.pem' } },
    });
    assert.deepEqual(await of('docker.io'), {
      ca: '/up.pem',
      host: { 'https://registry-1.docker.io': { ca: '/up.pem' } },
    });
  });

  test('without fallback the last mirror stands in for the registry, with all that it needs', async () => {
    const last = registryEndpoint('https://b.example', {
      ca: { kind: 'file', path: '/b.pem' },
      headers: { Accept: secret('all-of-it') },
    });
    const settings = { capabilities: ['pull', 'resolve'], ca: '/b.pem', header: { Accept: 'all-of-it' } };
    assert.deepEqual(await hosts({ fallback: false, mirrors: [registryEndpoint('https://a.example'), last] }), {
      server: 'https://b.example',
      ...settings,
      host: { 'https://a.example': { capabilities: ['pull', 'resolve'] }, 'https://b.example': settings },
    });
  });

  test('credentials become a header of a file for root alone', async () => {
    const credentials = { username: secret('ü'), password: secret('p:w') };
    const [file] = await files({ mirrors: [registryEndpoint('https://m.example', { credentials })] });
    assert.equal(file?.mode, 0o600);
    const value = Buffer.from('ü:p:w').toString('base64');
    assert.match(file.content, new RegExp(`^Authorization = "Basic ${value.replace('+', '\\+')}"$`, 'm'));
  });

  test('certificates are files beside it, named after themselves; a key is for root alone', async () => {
    const endpoint = (pem: string) =>
      registryEndpoint('https://m.example', {
        ca: { kind: 'pem', pem },
        clientCertificate: { certificate: PEM, key: secret('the key') },
      });
    const found = await files({ mirrors: [endpoint(PEM)] });
    assert.deepEqual(
      found.map(({ name, mode }) => [name.replace(/[0-9a-f]{8}/, '#'), mode]),
      [
        ['machineadm-#-client.cert', 0o644],
        ['machineadm-#-client.key', 0o600],
        ['machineadm-#-ca.crt', 0o644],
        ['hosts.toml', 0o644],
      ],
    );
    const [certificate, key, ca, hostsFile] = found;
    assert.equal(key?.content, 'the key\n');
    assert.equal(ca?.content, PEM);
    const { client, ca: named } = Object(toTable(parse(hostsFile?.content ?? ''))).host['https://m.example'];
    assert.deepEqual(client, [[certificate?.name, key?.name]]);
    assert.equal(named, ca?.name);
    const other = await files({ mirrors: [endpoint(PEM.replace('MIIB', 'MIIC'))] });
    assert.notEqual(other[2]?.name, ca?.name);
    assert.equal(other[0]?.name, certificate?.name);
  });

  test('a secret that cannot be found out here: nothing is known', async () => {
    const unknown: SecretValue = { name: 's', source: { kind: 'exec', command: ['x'], timeoutMs: 1 } };
    const clientCertificate = { certificate: PEM, key: unknown };
    for (const different of [
      { headers: { A: unknown } },
      { credentials: { username: secret('u'), password: unknown } },
      { clientCertificate },
    ]) {
      const mirrors = [registryEndpoint('https://m.example', different)];
      assert.equal(await registryFiles(registry({ mirrors }), reveal), undefined);
    }
  });
});
