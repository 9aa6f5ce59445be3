import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { requireReadable } from '@machineadm/kubeadm/api-server/encryption-change.ts';

const config = (providers: string, resources = 'secrets') =>
  `kind: EncryptionConfiguration\nresources: [{resources: [${resources}], providers: [${providers}]}]\n`;
const box = (...keys: string[]) =>
  `{secretbox: {keys: [${keys.map((name) => `{name: ${name}, secret: value-of-${name}}`).join(', ')}]}}`;
const KMS = '{kms: {name: vault, endpoint: "unix:///run/kms.sock"}}';
const IDENTITY = '{identity: {}}';

describe('a change of encryption at rest', () => {
  const taken: readonly (readonly [string, string | undefined, string | undefined])[] = [
    ['none before, none after', undefined, undefined],
    ['it begins, and what is there can be read', undefined, config(`${box('a')}, ${IDENTITY}`)],
    ['nothing changes', config(box('a')), config(box('a'))],
    ['a new key comes first, the old one stays', config(box('a')), config(box('b', 'a'))],
    ['a key that no longer writes goes', config(box('b', 'a')), config(box('b'))],
    ['a KMS comes first', config(box('a')), config(`${KMS}, ${box('a')}`)],
    ['a wildcard takes its place', config(box('a')), config(`${box('a')}, ${IDENTITY}`, '"*."')],
    ['it ended before, and ends', config(`${IDENTITY}, ${box('a')}`), undefined],
  ];
  for (const [what, before, after] of taken) {
    test(`${what}: taken`, async () => {
      await requireReadable(before, after);
    });
  }

  const refused: readonly (readonly [string, string | undefined, string | undefined, RegExp])[] = [
    ['it begins without a way to read what is there', undefined, config(box('a')), /secrets in etcd are not encrypted/],
    ['it ends at once', config(box('a')), undefined, /encrypted with the secretbox key "a"/],
    ['the key is another', config(box('a')), config(`${box('b')}, ${IDENTITY}`), /secretbox key "a"/],
    [
      'the key has another value',
      config(box('a')),
      config('{secretbox: {keys: [{name: a, secret: other}]}}'),
      /secretbox key "a"/,
    ],
    ['the key moves to another cipher', config(box('a')), config(box('a').replace('secretbox', 'aescbc')), /secretbox/],
    ['the KMS goes', config(KMS), config(box('a')), /the KMS "vault"/],
    ['a resource is dropped', config(box('a'), 'secrets, configmaps'), config(box('a')), /The configmaps in etcd/],
    ['others join it, which are not encrypted', config(box('a')), config(box('a'), '"*."'), /not encrypted/],
    ['it comes back without identity', config(`${IDENTITY}, ${box('a')}`), config(box('a')), /not encrypted/],
  ];
  for (const [what, before, after, why] of refused) {
    test(`${what}: refused, and no key is shown`, async () => {
      await assert.rejects(requireReadable(before, after), (error) => {
        assert.ok(error instanceof MachineadmError);
        assert.equal(error.reason, 'EncryptionKeyNeeded');
        assert.match(error.message, why);
        assert.doesNotMatch(JSON.stringify([error.message, error.remedy, error.evidence]), /value-of|other/);
        return true;
      });
    });
  }
});
