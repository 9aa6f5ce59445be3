import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, test } from 'node:test';
import type { RegistryModel } from '@machineadm/document/model/index.ts';
import { Secret, type SecretValue } from '@machineadm/document/secrets/secret.ts';
import { parse, stringify } from 'smol-toml';
import { containerdStep } from '../../../../src/features/containerd/index.ts';
import { planRegistries, type RegistryActual } from '../../../../src/features/containerd/registries.ts';
import { EMPTY_RECORD } from '../../../../src/step/index.ts';
import { newAuthority } from '../../../support/api-server.ts';
import { selfSigned } from '../../../support/certificates.ts';
import { containerdModel, registryEndpoint } from '../../../support/containerd-model.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import { type MemoryMachine, memoryHost, queryOnly } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const CERTS = '/etc/containerd/certs.d';
const step = containerdStep({ healthyWithin: 300, healthyAgainWithin: 300 });
const secret = (value: string): SecretValue => ({
  name: 'secrets.mirror',
  source: { kind: 'value', secret: new Secret(value) },
});
const AUTHORITY = newAuthority();

const registry = (different: Partial<RegistryModel> = {}): RegistryModel => ({
  host: 'docker.io',
  server: registryEndpoint(undefined),
  fallback: true,
  mirrors: [registryEndpoint('https://m.example')],
  verify: undefined,
  ...different,
});
const withPassword = (password: SecretValue) =>
  registry({
    mirrors: [registryEndpoint('https://m.example', { credentials: { username: secret('user-name'), password } })],
  });

const model = (...registries: readonly RegistryModel[]) => ({
  ...hostModel(),
  containerd: containerdModel({ registries }),
});

/** A machine whose containerd runs with the configuration that the step itself would write. */
async function machine(wish: Pick<MemoryMachine, 'files' | 'secrets'> = {}) {
  const host = memoryHost({
    ...wish,
    services: { containerd: { active: true, enabled: true } },
    programs: {
      containerd: ({ input }) => ({ stdout: typeof input === 'string' ? stringify(parse(input)) : '' }),
      runc: () => ({}),
      'containerd-shim-runc-v2': () => ({}),
      rmdir: ({ args }, on) => {
        on.take(args.at(-1) ?? '');
        return {};
      },
    },
  });
  const { host: _, ...plain } = model();
  await runStep(step, host, { ...plain, host: hostModel().host }, { facts: facts() });
  host.log.length = 0;
  return host;
}

describe('registries of containerd', () => {
  test('a new one is written without a restart, and left alone afterwards', async () => {
    const host = await machine();
    const run = await runStep(step, host, model(registry()), { facts: facts() });
    // The directory by itself: a reset takes away what it knows to be made.
    assert.deepEqual(host.log, [
      `mkdir ${CERTS}/docker.io 0755`,
      `write ${CERTS}/docker.io/hosts.toml 0644 0:0`,
      'sync /etc',
    ]);
    assert.equal(run.changes[0]?.scope, 'base');
    assert.match(run.changes[0]?.diff ?? '', /^\+\[host\."https:\/\/m\.example"\]$/m);
    assert.deepEqual(run.left, []);
    const again = await runStep(step, host, model(registry()), { facts: facts() });
    assert.deepEqual(again.changes, []);
  });

  test('a changed mode is put right', async () => {
    const host = await machine();
    const wanted = model(withPassword(secret('pass-word')));
    await runStep(step, host, wanted, { facts: facts() });
    await host.chmod(`${CERTS}/docker.io/hosts.toml`, 0o644);
    const run = await runStep(step, host, wanted, { facts: facts() });
    assert.deepEqual(run.left, []);
    assert.equal((await host.stat(`${CERTS}/docker.io/hosts.toml`))?.mode, 0o600);
  });

  test('with a secret it is the machine’s own, and shows nothing of it', async () => {
    const host = await machine();
    const [change] = await planned(step, host, model(withPassword(secret('pass-word'))), { facts: facts() });
    assert.equal(change?.scope, 'node');
    assert.match(change.diff ?? '', /^\+Authorization = "\[redacted\]"$/m);
    assert.deepEqual(host.log, []);
  });

  test('another password shows as that, and what was proven before counts no more', async () => {
    const host = await machine();
    await runStep(step, host, model(withPassword(secret('pass-word'))), { facts: facts() });
    const [change, ...more] = await planned(step, host, model(withPassword(secret('other-word'))), { facts: facts() });
    assert.deepEqual(more, []);
    assert.match(change?.summary ?? '', /docker\.io\/hosts\.toml with other headers/);
    assert.equal(change?.diff, undefined);
    assert.deepEqual([change?.undoes, change?.repeatable], [['registries'], false]);
  });

  test('a run that was killed while it wrote them is taken up again, though all is as it must be', async () => {
    const host = await machine();
    await runStep(step, host, model(registry()), { facts: facts() });
    const record = { ...EMPTY_RECORD, interrupted: new Set(['containerd/registries/docker.io']) };
    const changes = await planned(step, host, model(registry()), { facts: facts(), record });
    assert.deepEqual(
      changes.map(({ summary }) => summary),
      [`write ${CERTS}/docker.io/hosts.toml again`],
    );
  });

  test('a secret that only a run may find out: the plan says so, and the run compares', async () => {
    const password: SecretValue = { name: 'later', source: { kind: 'exec', command: ['x'], timeoutMs: 1 } };
    const host = await machine({ secrets: { later: 'pass-word' } });
    const wanted = model(withPassword(password));
    const [change] = await planned(step, queryOnly(host), wanted, { facts: facts() });
    assert.equal(change?.knownAfter, 'secrets');
    const run = await runStep(step, host, wanted, { facts: facts() });
    assert.deepEqual(run.left, []);
    assert.deepEqual((await runStep(step, host, wanted, { facts: facts() })).changes, []);
  });

  test('certificates that are no longer used go with the change that makes them so', async () => {
    const host = await machine();
    const ca = { kind: 'pem', pem: AUTHORITY.certificate } as const;
    await runStep(step, host, model(registry({ mirrors: [registryEndpoint('https://m.example', { ca })] })), {
      facts: facts(),
    });
    const [kept] = ((await host.list(`${CERTS}/docker.io`)) ?? []).filter((name) => name.endsWith('.crt'));
    const run = await runStep(step, host, model(registry()), { facts: facts() });
    assert.match(run.changes[0]?.summary ?? '', new RegExp(`without ${kept}`));
    assert.deepEqual(await host.list(`${CERTS}/docker.io`), ['hosts.toml']);
  });

  test('one that the document no longer names is removed with its directory; others’ are not touched', async () => {
    const host = await machine({ files: { [`${CERTS}/quay.io/hosts.toml`]: 'server = "https://theirs"\n' } });
    await runStep(step, host, model(registry()), { facts: facts() });
    const run = await runStep(step, host, model(), { facts: facts() });
    assert.deepEqual(
      run.changes.map(({ id }) => id),
      ['containerd/registries/remove/docker.io'],
    );
    assert.deepEqual(run.left, []);
    assert.deepEqual(await host.list(CERTS), ['quay.io']);
  });

  test('they are written where the configuration looks for them', async () => {
    const host = await machine();
    const settings = { plugins: { 'io.containerd.grpc.v1.cri': { registry: { config_path: '/certs:/more' } } } };
    const wanted = { ...hostModel(), containerd: containerdModel({ registries: [registry()], settings }) };
    await runStep(step, host, wanted, { facts: facts() });
    assert.notEqual(host.text('/certs/docker.io/hosts.toml'), undefined);
  });
});

describe('certificates of registries, before any change', () => {
  const problems = async (different: Parameters<typeof registryEndpoint>[1], files: MemoryMachine['files'] = {}) => {
    const host = await machine({ files });
    const mirrors = [registryEndpoint('https://m.example', different)];
    const desired = step.desired(model(registry({ mirrors })), facts());
    assert.ok(desired);
    const missing = (await step.preflight?.(host, desired)) ?? [];
    for (const { reason } of missing) assert.equal(reason, 'RegistryCertificateInvalid');
    return missing.map(({ what }) => what).join('\n');
  };

  test('a CA that is right, in the document or in a file', async () => {
    assert.equal(await problems({ ca: { kind: 'pem', pem: AUTHORITY.certificate } }), '');
    const ca = { kind: 'file', path: '/ca.pem' } as const;
    assert.equal(await problems({ ca }, { '/ca.pem': AUTHORITY.certificate }), '');
  });

  test('a CA that is not there, is none, is damaged or expired', async () => {
    const ca = { kind: 'file', path: '/ca.pem' } as const;
    assert.equal(await problems({ ca }), 'the CA of https://m.example does not exist: /ca.pem');
    assert.match(await problems({ ca }, { '/ca.pem': 'hello' }), /holds no PEM certificate/);
    const damaged = AUTHORITY.certificate.replace(/\n[A-Za-z0-9+/]{20}/, '\nAAAAAAAAAAAAAAAAAAAA');
    assert.match(await problems({ ca: { kind: 'pem', pem: damaged } }), /is damaged/);
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const old = selfSigned({
      key: privateKey,
      publicKey,
      notBefore: new Date(0),
      notAfter: new Date(86_400_000),
      authority: true,
    });
    assert.match(await problems({ ca: { kind: 'pem', pem: old } }), /expired on Jan {2}2 .* 1970/);
  });

  test('a client certificate and its key', async () => {
    const { certificate, key } = AUTHORITY.issue('node');
    const other = AUTHORITY.issue('other');
    const pair = (text: string) => ({ clientCertificate: { certificate, key: secret(text) } });
    assert.equal(await problems(pair(key)), '');
    assert.match(await problems(pair(other.key)), /does not belong to the key secrets\.mirror/);
    assert.match(await problems(pair('nonsense-key')), /no unencrypted PEM private key: secrets\.mirror/);
    assert.doesNotMatch(await problems(pair('nonsense-key')), /nonsense/);
  });
});

describe('the change of a registry names', () => {
  const HOSTS = 'server = "https://docker.io"\n';
  const file = (text: string, mode = 0o644) =>
    ({ type: 'file', mode, uid: 0, gid: 0, size: text.length, text }) as const;
  const wanted = [
    { name: 'machineadm-ca.crt', content: 'ca', mode: 0o644 },
    { name: 'hosts.toml', content: HOSTS, mode: 0o644 },
  ];
  const asWanted = { 'machineadm-ca.crt': file('ca'), 'hosts.toml': file(HOSTS) };

  function summaryOf(different: Partial<RegistryActual>, present: Readonly<Record<string, ReturnType<typeof file>>>) {
    const actual: RegistryActual = {
      registry: registry(),
      directory: '/certs',
      wanted,
      present: new Map(Object.entries(present)),
      stale: [],
      isForeign: false,
      wasInterrupted: false,
      ...different,
    };
    return planRegistries([actual], []).map(({ summary }) => summary);
  }

  for (const [what, different, present, expected] of [
    ['nothing where all is as it must be', {}, asWanted, []],
    ['the file and those beside it', {}, {}, ['write /certs/hosts.toml with machineadm-ca.crt']],
    ['the file alone', {}, { ...asWanted, 'hosts.toml': file('old = 1\n') }, ['write /certs/hosts.toml']],
    [
      'another mode',
      {},
      { ...asWanted, 'hosts.toml': file(HOSTS, 0o600) },
      ['write /certs/hosts.toml with other headers, another mode or owner'],
    ],
    [
      'a certificate alone',
      {},
      { ...asWanted, 'machineadm-ca.crt': file('old') },
      ['write machineadm-ca.crt with other headers, another mode or owner'],
    ],
    [
      'what goes',
      { stale: ['a.crt', 'b.crt'] },
      { ...asWanted, 'hosts.toml': file('old = 1\n') },
      ['write /certs/hosts.toml without a.crt, b.crt'],
    ],
    ['a run that was killed', { wasInterrupted: true }, asWanted, ['write /certs/hosts.toml again']],
    [
      'a secret that is not there yet',
      { wanted: undefined },
      {},
      ['compare /certs/hosts.toml with the secrets of docker.io'],
    ],
  ] as const) {
    test(what, () => assert.deepEqual(summaryOf(different, present), expected));
  }
});
