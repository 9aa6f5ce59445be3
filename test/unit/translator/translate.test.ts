import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { formatOf } from '@machineadm/translator/conversions/secret-data.ts';
import { convertSecret, type ReportSink, wrapConverted } from '@machineadm/translator/conversions/translate.ts';
import { Kept } from '@machineadm/translator/handover/kept.ts';
import type { Profile } from '@machineadm/translator/handover/profiles.ts';
import { parse } from 'yaml';
import { goldenUserData } from '../../support/capi.ts';
import { newKey } from '../../support/release.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const WORKER = goldenUserData('02-worker-registry-mirrors', 'join-worker');
const WINDOWS = goldenUserData('05-worker-windows', 'join-worker');
const WITH_ALIAS = goldenUserData('03-controlplane-etcd-disk', 'init');

function secret(value: string, format?: string) {
  const data = { value: base64(value), ...(format === undefined ? {} : { format: base64(format) }) };
  return { metadata: { name: 'm1', namespace: 'clusters' }, data };
}
function machine(version: string) {
  return {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Machine',
    metadata: { name: 'm1', namespace: 'clusters', uid: 'u' },
    spec: { version, bootstrap: { dataSecretName: 'm1' } },
  };
}
const converted = (userData: string, profile: Profile = {}) =>
  convertSecret(secret(userData), [machine('v1.35.2')], profile);

function kept(reason: string, message: RegExp) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof Kept, String(error));
    assert.equal(error.reason, reason, error.message);
    assert.match(error.message, message);
    return true;
  };
}

describe('the Secret of a provider', () => {
  test('is cloud-config where it names no format', () => {
    assert.equal(formatOf(secret('x')), 'cloud-config');
    assert.equal(formatOf(secret('x', 'cloud-config')), 'cloud-config');
    assert.equal(formatOf(secret('x', 'ignition')), 'ignition');
    assert.throws(() => formatOf(secret('x', 'ps1')), kept('ConversionFailed', /neither cloud-config nor ignition/));
  });

  test('becomes one document, with each code once', async () => {
    const { yaml, format, codes } = await converted(WORKER);
    assert.match(yaml, /^apiVersion: machineadm\.dev\/v1alpha1$/m);
    assert.equal(format, 'cloud-config');
    assert.ok(codes.includes('HookContinues'), codes.join());
    assert.equal(new Set(codes).size, codes.length);
  });

  test('is kept while a decision is open, which is named with its place, and not once it is accepted', async () => {
    await assert.rejects(converted(WITH_ALIAS), kept('DecisionNeeded', /^DeviceAlias \(.+\) DeviceAlias: \S+.*: /));
    await assert.rejects(converted(WITH_ALIAS, { accept: ['WindowsHost'] }), kept('DecisionNeeded', /DeviceAlias/));
    for (const code of ['DeviceAlias', 'all'] as const)
      assert.match((await converted(WITH_ALIAS, { accept: [code] })).yaml, /role: InitControlPlane/);
  });

  test('is kept where it cannot be converted, without a value of it', async () => {
    const broken = converted('#cloud-config\nruncmd: [hunter-two\n');
    await assert.rejects(broken, kept('ConversionFailed', /^(?!.*hunter-two)/s));
  });
});

describe('the user data that runs machineadm', () => {
  const wrap = async (userData: string, profile: Profile = {}, sink?: ReportSink, mayHoldSecrets = true) =>
    await wrapConverted(await converted(userData, { accept: ['all'] }), {
      profile,
      sink,
      mayHoldSecrets,
      translatorVersion: '1.2.3',
    });

  test('is for cloud-init, or for cloudbase-init on Windows', async () => {
    const linux = await wrap(WORKER, { binary: '/opt/machineadm' });
    assert.match(linux, /^#cloud-config\n/);
    assert.match(linux, /\/opt\/machineadm/);
    assert.doesNotMatch(linux, /cloudbase-init/);
    assert.match(await wrap(WINDOWS), /machineadm\.exe/);
  });

  test('is Ignition where the Secret was, in the version of the profile', async () => {
    const document = { ...(await converted(WORKER)), format: 'ignition' } as const;
    const { ignition } = JSON.parse(
      await wrapConverted(document, {
        profile: { ignitionVersion: '3.3.0' },
        sink: undefined,
        mayHoldSecrets: true,
        translatorVersion: '1.2.3',
      }),
    );
    assert.equal(ignition.version, '3.3.0');
  });

  test('downloads the version of the profile, or that of the translator, verified by the digests of the profile', async () => {
    const digest = 'a'.repeat(64);
    const fetch = {
      locations: [{ url: 'https://mirror.example/machineadm', pinned: undefined }],
      digests: { amd64: { gzip: digest, program: 'b'.repeat(64) }, arm64: undefined },
    };
    const own = await wrap(WORKER, { fetch });
    // The script is compressed: each of these changes it.
    const others = [
      await wrap(WORKER),
      await wrap(WORKER, { fetch, version: '1.0.9' }),
      await wrap(WORKER, { fetch: { ...fetch, locations: [{ url: 'https://other.example/machineadm' }] } }),
      await wrap(WORKER, { fetch: { ...fetch, digests: { arm64: fetch.digests.amd64 } } }),
    ];
    assert.equal(new Set([own, ...others]).size, 5);
    assert.equal(await wrap(WORKER, { fetch, version: '1.2.3' }), own);
    const signed = { locations: fetch.locations, keys: [{ publicKey: newKey().publicKey }] };
    const validity = { since: '2026-01-02T03:04:05Z', until: '2027-01-02T03:04:05Z' };
    assert.notEqual(await wrap(WORKER, { fetch: { ...signed, validity } }), await wrap(WORKER, { fetch: signed }));
    await assert.rejects(wrap(WINDOWS, { fetch }), kept('OptionsInvalid', /^fetch: a Windows machine must have/));
    const none = { locations: [{ url: 'https://mirror.example' }] };
    await assert.rejects(wrap(WORKER, { fetch: none }), kept('OptionsInvalid', /./));
  });

  test('has the sinks of the profile, and that of the management cluster', async () => {
    const sink = {
      server: 'https://management.example:6443',
      certificateAuthority: '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n',
      token: 'the-token',
      namespace: 'clusters',
      name: 'm1-report',
    };
    const webhook = { type: 'Webhook', name: 'site', url: 'https://site.example/hook' };
    await assert.rejects(
      wrap(WORKER, { sinks: [{ type: 'Nonsense' }] }),
      kept('OptionsInvalid', /reporting\.sinks\[1\]/),
    );
    const document = await wrap(WORKER, { sinks: [webhook] });
    assert.notEqual(document, await wrap(WORKER));
    assert.notEqual(await wrap(WORKER, { sinks: [webhook] }, sink).catch((error: unknown) => String(error)), document);
  });

  test('has the documents of the profile, merged last and validated', async () => {
    const sysctl = { host: { sysctl: { 'net.core.somaxconn': 4096 } } };
    const document = documentIn(
      await wrap(WORKER, { documents: [sysctl, { hardening: { profiles: ['cis-level-1'] } }] }),
    );
    assert.match(document, /net\.core\.somaxconn: 4096/);
    assert.match(document, /profiles:\n\s+- cis-level-1/);
    const wrong = { host: { sysctl: 'all' } };
    await assert.rejects(wrap(WORKER, { documents: [wrong] }), kept('OptionsInvalid', /host\.sysctl/));
  });

  test('has no secret of the profile for a caller that did not prove itself; the provider’s own are its text', async () => {
    const documents = [{ secrets: { mine: { value: 'hunter-two-three' } } }];
    assert.match(documentIn(await wrap(WORKER, { documents })), /hunter-two-three/);
    await assert.rejects(wrap(WORKER, { documents }, undefined, false), kept('CallerUnknown', /secrets\.mine/));
    const references = [{ secrets: { mine: { file: '/etc/mine' } } }];
    assert.match(documentIn(await wrap(WORKER, { documents: references }, undefined, false)), /\/etc\/mine/);
  });
});

/** The document in cloud-config. */
function documentIn(userData: string): string {
  const { write_files: files } = parse(userData);
  return gunzipSync(Buffer.from(files[0].content, 'base64')).toString();
}
