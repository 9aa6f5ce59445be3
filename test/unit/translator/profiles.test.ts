import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Kept } from '@machineadm/translator/handover/kept.ts';
import { isOptedIn, settingOf } from '@machineadm/translator/handover/opt-in.ts';
import { NO_PROFILES, parseProfiles, profileFor } from '@machineadm/translator/handover/profiles.ts';

function object(labels: Record<string, string> | null, annotations: Record<string, string> = {}) {
  return { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Machine', metadata: { name: 'm', labels, annotations } };
}

const SAYS = (value: string) => ({ 'machineadm.dev/bootstrap': value });

describe('isOptedIn', () => {
  for (const [what, objects, expected] of [
    ['nothing', [object(null), undefined], false],
    ['a label of the Machine', [object(SAYS('enabled'))], true],
    ['an annotation of the Cluster', [object(null), object({}), object({}, SAYS('enabled'))], true],
    ['the Machine against the Cluster', [object(SAYS('disabled')), object(SAYS('enabled'))], false],
    ['a label against an annotation', [object(SAYS('enabled'), SAYS('disabled'))], true],
    ['another word', [object(SAYS('true')), object(SAYS('enabled'))], false],
  ] as const) {
    test(`${what}: ${expected}`, () => assert.equal(isOptedIn(objects), expected));
  }

  test('other settings are annotations only', () => {
    const setting = 'machineadm.dev/bootstrap-profile';
    assert.equal(
      settingOf([object({ [setting]: 'label' }), object(null, { [setting]: 'annotation' })], setting),
      'annotation',
    );
  });
});

const DIGEST = 'ab'.repeat(32);
const PROFILES = parseProfiles(`profiles:
  default: {provider: capv}
  fetched:
    version: 1.2.3
    fetch:
      locations: [{url: 'https://mirror.example', pinned: true}]
      certificateAuthorities: PEM
      digests: {amd64: {gzip: ${DIGEST}, program: ${DIGEST}}}
  reporting: {report: {server: 'https://management.example:6443'}}
  hardened: {document: {hardening: {profiles: [cis-level-1]}}}
  private: {namespaces: [clusters], binary: /usr/bin/machineadm}
documents:
  audited: {kubernetes: {controlPlane: {apiServer: {}}}}
`);

describe('profiles', () => {
  const annotated = (annotations: Record<string, string>) =>
    profileFor([object(null, annotations), object(null, { 'machineadm.dev/bootstrap-provider': 'capa' })], PROFILES)
      .profile;

  test('one that is for some namespaces is for no other', () => {
    const annotations = { 'machineadm.dev/bootstrap-profile': 'private' };
    const inNamespace = (namespace: string) => {
      const machine = object(null, annotations);
      return profileFor([undefined, { ...machine, metadata: { ...machine.metadata, namespace } }], PROFILES).profile;
    };
    assert.deepEqual(inNamespace('clusters'), { binary: '/usr/bin/machineadm', report: undefined, documents: [] });
    assert.throws(() => inNamespace('others'), {
      reason: 'OptionsInvalid',
      message: 'the profile "private" is not for this namespace',
    });
  });

  test('the default one, overridden by annotations of the narrowest object first', () => {
    const none = { report: undefined, documents: [] };
    assert.deepEqual(profileFor([object(null)], PROFILES), { name: 'default', profile: { provider: 'capv', ...none } });
    assert.deepEqual(profileFor([object(null)], NO_PROFILES), { name: 'default', profile: none });
    assert.deepEqual(annotated({}), { provider: 'capa', ...none });
    assert.deepEqual(
      annotated({
        'machineadm.dev/bootstrap-provider': 'capz',
        'machineadm.dev/bootstrap-version': '2.0.0',
        'machineadm.dev/bootstrap-binary': '/usr/bin/machineadm',
        'machineadm.dev/bootstrap-accept': ' DeviceAlias, WindowsHost,',
      }),
      {
        provider: 'capz',
        version: '2.0.0',
        binary: '/usr/bin/machineadm',
        accept: ['DeviceAlias', 'WindowsHost'],
        ...none,
      },
    );
  });

  test('locations of an annotation are verified by what the profile says', () => {
    const { fetch } = annotated({
      'machineadm.dev/bootstrap-profile': 'fetched',
      'machineadm.dev/bootstrap-fetch': 'https://a.example,https://b.example',
    });
    assert.deepEqual(fetch?.locations, [{ url: 'https://a.example' }, { url: 'https://b.example' }]);
    assert.equal(fetch?.digests?.amd64?.gzip, DIGEST);
  });

  test('reports are on and off by annotation, where the profile has a server', () => {
    const report = (value: string) =>
      annotated({ 'machineadm.dev/bootstrap-profile': 'reporting', 'machineadm.dev/bootstrap-report': value }).report;
    assert.deepEqual(report('ConfigMap'), { server: 'https://management.example:6443', tokenSeconds: 86_400 });
    assert.equal(report('None'), undefined);
  });

  for (const [what, annotations, message] of [
    ['a profile that does not exist', { profile: 'other' }, /no profile "other"/],
    ['a provider that does not exist', { provider: 'cape' }, /provider/],
    ['a code that does not exist', { accept: 'Nonsense' }, /accept/],
    ['a version that is none', { version: 'latest' }, /version/],
    ['locations without digests or keys', { fetch: 'https://a.example' }, /verify/],
    ['reports without a server', { report: 'ConfigMap' }, /report\.server/],
    ['a document that the file does not have', { document: 'hardened' }, /no document "hardened"/],
    ['a document of the language', { document: 'constructor' }, /no document "constructor"/],
    ['a profile of the language', { profile: 'constructor' }, /no profile "constructor"/],
    ['another kind of report', { report: 'Webhook' }, /"Webhook" is neither/],
  ] as const) {
    test(`${what} is refused`, () => {
      const named = Object.entries(annotations).map(([name, value]) => [`machineadm.dev/bootstrap-${name}`, value]);
      assert.throws(
        () => annotated(Object.fromEntries(named)),
        (error) => {
          assert.ok(error instanceof Kept);
          assert.equal(error.reason, 'OptionsInvalid');
          assert.match(error.message, message);
          return true;
        },
      );
    });
  }

  test('documents of the profile come first, then those that an annotation names', () => {
    const { documents } = annotated({
      'machineadm.dev/bootstrap-profile': 'hardened',
      'machineadm.dev/bootstrap-document': ' audited,',
    });
    assert.deepEqual(documents, [
      { hardening: { profiles: ['cis-level-1'] } },
      { kubernetes: { controlPlane: { apiServer: {} } } },
    ]);
  });

  for (const fragment of [
    'metadata: {name: other}',
    'kubernetes: {role: Worker}',
    'kubernetes: {version: v1.35.2}',
    'kubernetes: {join: {}}',
    'kubernetes: {pki: {}}',
    'reporting: {sinks: []}',
    'kind: Secret',
  ]) {
    test(`a document may not set ${fragment}`, () => {
      assert.throws(() => parseProfiles(`profiles: {a: {document: {${fragment}}}}`), /Unrecognized key/i);
      assert.throws(() => parseProfiles(`documents: {a: {${fragment}}}`), /Unrecognized key/i);
    });
  }

  for (const text of ['profiles: [', 'profile: {}', 'profiles: {a: {provider: x}}', 'profiles: {a: {sinks: 3}}']) {
    test(`${text} is refused`, () => assert.throws(() => parseProfiles(text), /profiles are (?:not YAML|invalid)/));
  }

  test('an empty file has no profile', () => assert.deepEqual(parseProfiles(''), NO_PROFILES));
});
