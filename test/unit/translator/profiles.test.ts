import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Kept } from '@machineadm/translator/kept.ts';
import { isOptedIn, settingOf } from '@machineadm/translator/opt-in.ts';
import { parseProfiles, profileFor } from '@machineadm/translator/profiles.ts';

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
`);

describe('profiles', () => {
  const annotated = (annotations: Record<string, string>) =>
    profileFor([object(null, annotations), object(null, { 'machineadm.dev/bootstrap-provider': 'capa' })], PROFILES);

  test('the default one, overridden by annotations of the narrowest object first', () => {
    assert.deepEqual(profileFor([object(null)], PROFILES), { provider: 'capv' });
    assert.deepEqual(profileFor([object(null)], new Map()), {});
    assert.deepEqual(annotated({}), { provider: 'capa' });
    assert.deepEqual(
      annotated({
        'machineadm.dev/bootstrap-provider': 'capz',
        'machineadm.dev/bootstrap-version': '2.0.0',
        'machineadm.dev/bootstrap-binary': '/usr/bin/machineadm',
        'machineadm.dev/bootstrap-accept': ' DeviceAlias, WindowsHost,',
      }),
      { provider: 'capz', version: '2.0.0', binary: '/usr/bin/machineadm', accept: ['DeviceAlias', 'WindowsHost'] },
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

  for (const text of ['profiles: [', 'profile: {}', 'profiles: {a: {provider: x}}', 'profiles: {a: {sinks: 3}}']) {
    test(`${text} is refused`, () => assert.throws(() => parseProfiles(text), /profiles are (?:not YAML|invalid)/));
  }

  test('an empty file has no profile', () => assert.equal(parseProfiles('').size, 0));
});
