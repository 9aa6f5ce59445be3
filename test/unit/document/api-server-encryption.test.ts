import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkEncryption, toEncryption } from '@machineadm/document/sections/api-server/encryption.ts';
import { placed, type Told, told } from './api-server-findings.ts';

const RAISE = 'remove it, or raise kubernetes.version';
const KEEP_ONE = 'keep one of them';

describe('encryption at rest', () => {
  type Section = Parameters<typeof checkEncryption>[0];
  const key = (bytes: number) => Buffer.alloc(bytes, 7).toString('base64');
  const of = (section: Section, minor = 35, secrets: Parameters<typeof checkEncryption>[2] = {}) =>
    told(checkEncryption(section, minor, secrets));
  const kms = (over: object = {}) => ({ kms: { name: 'a', endpoint: 'unix:///run/kms.sock', ...over } });
  const IDENTITY = [{ identity: {} }];
  const ONE_OF = 'one of secretbox, aescbc, aesgcm, kms, identity each';

  test('may have each kind of provider', () => {
    const keys = (size: number) => ({
      keys: [
        { name: 'a', key: key(size) },
        { name: 'b', key: key(size) },
      ],
    });
    const providers = [
      { secretbox: keys(32) },
      { aescbc: keys(16) },
      { aesgcm: keys(24) },
      kms(),
      kms({ name: 'b' }),
      { identity: {} },
    ];
    assert.deepEqual(of({ providers, resources: ['secrets', 'configmaps', 'widgets.example.com'] }), []);
  });

  test('has one kind in each provider', () => {
    assert.deepEqual(
      of({ providers: [{}, { identity: {}, ...kms() }, { aescbc: { keys: [] }, aesgcm: { keys: [] } }] }),
      [
        ['encryptionAtRest.providers.0', 'no kind of provider is given', ONE_OF],
        ['encryptionAtRest.providers.1', 'kms and identity exclude each other', ONE_OF],
        ['encryptionAtRest.providers.2', 'aescbc and aesgcm exclude each other', ONE_OF],
      ],
    );
  });

  for (const kind of ['secretbox', 'aescbc', 'aesgcm'] as const)
    test(`has keys of ${kind} that fit, with different names, by themselves or as secrets of the document`, () => {
      const keys = [
        { name: 'a', key: key(32) },
        { name: 'b', key: key(8) },
        { name: 'a', key: { secret: 'short' } },
        { name: 'c', key: { secret: 'elsewhere' } },
      ];
      const found = of({ providers: [...IDENTITY, { [kind]: { keys } }] }, 35, {
        short: { value: key(9) },
        elsewhere: { file: '/run/key' },
      });
      const at = `encryptionAtRest.providers.1.${kind}.keys`;
      assert.deepEqual(
        found.map(([path, , , code]) => [path, code]),
        [
          [`${at}.1.key`, undefined],
          [`${at}.2.key`, undefined],
          [`${at}.2.name`, 'Duplicate'],
        ],
      );
      assert.match(found[0]?.[1] ?? '', new RegExp(`^a key of 8 bytes, and ${kind} takes `));
      assert.match(found[1]?.[1] ?? '', /^a key of 9 bytes, /);
      assert.equal(found[2]?.[1], 'a second key "a"');
    });

  test('may have the same name for keys of two providers', () => {
    const one = { secretbox: { keys: [{ name: 'a', key: key(32) }] } };
    assert.deepEqual(of({ providers: [one, one] }), []);
  });

  test('has each KMS once', () => {
    assert.deepEqual(of({ providers: [kms(), kms({ name: 'b' }), kms()] }), [
      ['encryptionAtRest.providers.2.kms.name', 'a second KMS "a"', undefined, 'Duplicate'],
    ]);
  });

  const KMS: readonly (readonly [version: 'v1' | 'v2' | undefined, minor: number, found: Told])[] = [
    ['v1', 28, []],
    [
      'v1',
      29,
      [['encryptionAtRest.providers.0.kms.version', 'KMS v1 is switched off since Kubernetes 1.29', 'version: v2']],
    ],
    ['v2', 27, []],
    ['v1', 26, []],
    [undefined, 27, []],
    ...(['v2', undefined] as const).map((version): readonly ['v2' | undefined, number, Told] => [
      version,
      26,
      [
        [
          'encryptionAtRest.providers.0.kms',
          'KMS v2 needs Kubernetes 1.27',
          'version: v1, or raise kubernetes.version',
        ],
      ],
    ]),
  ];
  for (const [version, minor, found] of KMS)
    test(`with KMS ${version ?? 'of the default version'} in 1.${minor}: ${found[0]?.[1] ?? 'fits'}`, () => {
      assert.deepEqual(of({ providers: [kms(version === undefined ? {} : { version })] }, minor), found);
    });

  const RESOURCES: readonly (readonly [string, string | undefined])[] = [
    ['Secrets', 'a resource is written in lower case'],
    ['*', 'write "*." for all of the core group, or "*.*" for all'],
    ['events.events.k8s.io', 'events are stored under "events"'],
    ['ingresses.extensions', 'the group extensions has been removed'],
    ['widgets.*', 'one resource across all groups cannot be named'],
    ['*.*', undefined],
    ['*.', undefined],
    ['*.apps', undefined],
    ['events', undefined],
    ['extensions', undefined],
    ['a.b.extensions', undefined],
  ];
  for (const [resource, message] of RESOURCES)
    test(`of the resource ${resource}: ${message ?? 'fits'}`, () => {
      const found = of({ providers: IDENTITY, resources: [resource] });
      assert.deepEqual(found, message === undefined ? [] : [['encryptionAtRest.resources.0', message]]);
    });

  test('knows wildcards from 1.27', () => {
    const section = { providers: IDENTITY, resources: ['secrets', '*.apps'] };
    assert.deepEqual(of(section, 27), []);
    assert.deepEqual(of(section, 26), [
      ['encryptionAtRest.resources.1', 'needs Kubernetes 1.27', RAISE, 'UnsupportedVersion'],
    ]);
  });

  const MASKED: readonly (readonly [resources: readonly string[], masked: readonly number[]])[] = [
    [['secrets', 'secrets'], [1]],
    [['*.', 'secrets', 'deployments.apps'], [1]],
    [['deployments.apps', '*.apps', 'x.example.com'], [0]],
    [
      ['*.*', 'secrets', '*.apps', 'a.b'],
      [1, 2, 3],
    ],
    [['*.example.com', 'a.b.example.com', 'a.example.com'], [2]],
    [['secrets', 'secrets.apps'], []],
  ];
  for (const [resources, masked] of MASKED)
    test(`of ${resources.join(', ')} names ${masked.length} twice`, () => {
      assert.deepEqual(
        of({ providers: IDENTITY, resources: [...resources] }),
        masked.map((index) => [
          `encryptionAtRest.resources.${index}`,
          `${resources[index]} is named twice`,
          KEEP_ONE,
          'Duplicate',
        ]),
      );
    });

  test('in the model has its defaults, and its keys as secrets with their places', () => {
    const keys = [
      { name: 'a', key: 'x' },
      { name: 'b', key: { secret: 'k' } },
    ];
    const at = 'kubernetes.controlPlane.apiServer.encryptionAtRest.providers';
    const secret = (name: string) => placed(undefined, name);
    const model = toEncryption(
      {
        providers: [
          ...(['secretbox', 'aescbc', 'aesgcm'] as const).map((kind) => ({ [kind]: { keys } })),
          kms(),
          kms({ timeout: '5s', version: 'v1' }),
          { identity: {} },
        ],
      },
      placed,
    );
    assert.deepEqual(model, {
      resources: ['secrets'],
      providers: [
        ...(['secretbox', 'aescbc', 'aesgcm'] as const).map((kind, index) => ({
          kind,
          keys: ['a', 'b'].map((name, place) => ({ name, key: secret(`${at}[${index}].${kind}.keys[${place}].key`) })),
        })),
        { kind: 'kms', name: 'a', socket: '/run/kms.sock', timeoutMs: 3_000, version: 'v2' },
        { kind: 'kms', name: 'a', socket: '/run/kms.sock', timeoutMs: 5_000, version: 'v1' },
        { kind: 'identity' },
      ],
    });
    assert.deepEqual(toEncryption({ providers: IDENTITY, resources: ['a.b'] }, placed).resources, ['a.b']);
  });
});
