import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { withChecksum } from '../../../src/host/files/checksum.ts';
import { localPath } from '../../../src/host/local-files/local-path.ts';
import { parseKeys } from '../../../src/trust/keys.ts';
import {
  defaultMemoryPath,
  extendTrustMemory,
  floorOf,
  parseMemory,
  readTrustMemory,
  type TrustMemory,
  withMemory,
} from '../../../src/trust/memory.ts';
import type { TrustStore } from '../../../src/trust/store.ts';
import { newKey } from '../../support/release.ts';

const [FIRST, SECOND] = [newKey(), newKey()];
const NOTHING: TrustMemory = { apiVersion: 'machineadm.dev/trust-memory/v1', directories: [], revoked: [] };

function seen(version: number, key = FIRST.keyId, place = 'tools'): TrustMemory['directories'][number] {
  return { place, key, version, sha256: `${version}`.repeat(64).slice(0, 64) };
}

function trusting(over: Partial<TrustStore> = {}): TrustStore {
  return {
    keys: parseKeys(FIRST.pem, 'first.pem'),
    revoked: new Set(),
    minimumVersion: undefined,
    threshold: 1,
    ...over,
  };
}

describe('what a machine has verified', () => {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-remembered-'));
  after(() => rmSync(directory, { recursive: true }));
  let files = 0;
  /** A record that has learned all this, one after the other. */
  const learned = async (...all: readonly Parameters<typeof extendTrustMemory>[1][]) => {
    files += 1;
    const path = join(directory, `${files}.json`);
    for (const one of all) await extendTrustMemory(path, one);
    return { path, memory: await readTrustMemory(path) };
  };

  test('is nothing before the first list, and then no file is written', async () => {
    const { path, memory } = await learned({}, { directories: [], revoked: [] });
    assert.deepEqual(memory, NOTHING);
    assert.equal(statSync(path, { throwIfNoEntry: false }), undefined);
  });

  test('is the newest list of each place by each key, in whatever order they came', async () => {
    const { memory } = await learned(
      { directories: [seen(2)] },
      { directories: [seen(3), seen(1, SECOND.keyId), seen(1, FIRST.keyId, 'images')] },
      { directories: [seen(1), seen(3)] },
    );
    assert.deepEqual(memory, {
      ...NOTHING,
      directories: [seen(3), seen(1, SECOND.keyId), seen(1, FIRST.keyId, 'images')],
    });
  });

  test('keeps the first list of a version: a second one of the same version replaces nothing', async () => {
    const { memory } = await learned(
      { directories: [seen(2)] },
      { directories: [{ ...seen(2), sha256: 'f'.repeat(64) }] },
    );
    assert.deepEqual(memory.directories, [seen(2)]);
  });

  test('has each revoked key once, and the newest minimum version', async () => {
    const { memory } = await learned(
      { revoked: [FIRST.keyId], minimumVersion: '1.10.0' },
      { revoked: [SECOND.keyId, FIRST.keyId], minimumVersion: '1.9.0' },
    );
    assert.deepEqual(memory, { ...NOTHING, revoked: [FIRST.keyId, SECOND.keyId], minimumVersion: '1.10.0' });
  });

  test('is written only where something is new', async () => {
    const { path } = await learned({ minimumVersion: '1.0.0' });
    const { ino } = statSync(path);
    await extendTrustMemory(path, { minimumVersion: '0.9.0' });
    assert.equal(statSync(path).ino, ino);
    const text = readFileSync(path, 'utf8');
    assert.match(
      text,
      /^\{\n {2}"apiVersion": "machineadm\.dev\/trust-memory\/v1",\n(?:.*\n)+ *"crc32": "[0-9a-f]{8}"\n\}\n$/,
    );
  });

  test('is refused where it is damaged', async () => {
    const { path } = await learned({ minimumVersion: '1.0.0' });
    writeFileSync(path, readFileSync(path, 'utf8').replace('1.0.0', '0.0.1'));
    await assert.rejects(readTrustMemory(path), {
      reason: 'TrustedKeyInvalid',
      message: `${path}, the memory of verified versions, is damaged`,
    });
  });
});

describe('a record of what was verified', () => {
  const BAD: readonly (readonly [string, object])[] = [
    ['of another version', { ...NOTHING, apiVersion: 'machineadm.dev/trust-memory/v2' }],
    ['without its directories', { apiVersion: NOTHING.apiVersion, revoked: [] }],
    ['with a key ID that is too short', { ...NOTHING, revoked: ['abc='] }],
    ['with a minimum version that is none', { ...NOTHING, minimumVersion: 'v1' }],
    ['with a list of version 0', { ...NOTHING, directories: [seen(0)] }],
    ['with a digest that is none', { ...NOTHING, directories: [{ ...seen(1), sha256: 'A'.repeat(64) }] }],
  ];
  for (const [what, value] of BAD)
    test(`${what} is damaged`, () => {
      assert.throws(() => parseMemory(withChecksum(JSON.stringify(value)), 'trust.json'), {
        reason: 'TrustedKeyInvalid',
      });
    });

  test('is read with a checksum and without one, as the first version wrote it', () => {
    const value: TrustMemory = { ...NOTHING, directories: [seen(1)], minimumVersion: '1.0.0-rc.1' };
    const text = JSON.stringify(value);
    assert.deepEqual(parseMemory(text, 'x'), value);
    assert.deepEqual(parseMemory(withChecksum(text), 'x'), value);
  });
});

test('the oldest list that a place may still offer is the newest known one of a key that is trusted', () => {
  const memory: TrustMemory = {
    ...NOTHING,
    directories: [seen(2), seen(9, SECOND.keyId), seen(5), seen(7, FIRST.keyId, 'images'), seen(3)],
  };
  assert.deepEqual(floorOf(memory, 'tools', trusting()), seen(5));
  assert.deepEqual(floorOf(memory, 'images', trusting()), seen(7, FIRST.keyId, 'images'));
  assert.equal(floorOf(memory, 'charts', trusting()), undefined);
  assert.equal(floorOf(memory, 'tools', trusting({ keys: [] })), undefined);
});

test('the record extends the trusted keys: revoked keys are joined, and the newer minimum version holds', () => {
  const trust = trusting({ revoked: new Set(['a']), minimumVersion: '1.9.0' });
  const known = (over: Partial<TrustMemory>) => withMemory(trust, { ...NOTHING, ...over });
  assert.deepEqual(known({ revoked: ['b', 'a'], minimumVersion: '1.10.0' }), {
    ...trust,
    revoked: new Set(['a', 'b']),
    minimumVersion: '1.10.0',
  });
  assert.equal(known({ minimumVersion: '1.8.0' }).minimumVersion, '1.9.0');
  assert.equal(known({}).minimumVersion, '1.9.0');
  assert.equal(withMemory(trusting(), NOTHING).minimumVersion, undefined);
});

test('the record of root is the one of the machine; another user has one in the directory for states', (t) => {
  const { geteuid } = process;
  const { HOME, XDG_STATE_HOME } = process.env;
  t.after(() => {
    Object.assign(process, { geteuid });
    for (const [name, value] of Object.entries({ HOME, XDG_STATE_HOME }))
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  });
  Object.assign(process, { geteuid: () => 0 });
  assert.equal(defaultMemoryPath(), localPath('/var/lib/machineadm/trust.json'));
  Object.assign(process, { geteuid: () => 1000 });
  process.env.HOME = '/home/ann';
  process.env.XDG_STATE_HOME = '';
  assert.equal(defaultMemoryPath(), '/home/ann/.local/state/machineadm/trust.json');
  process.env.XDG_STATE_HOME = '/state';
  assert.equal(defaultMemoryPath(), '/state/machineadm/trust.json');
});
