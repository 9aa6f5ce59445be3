import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import { stringify } from 'yaml';
import { openQueryHost } from '../../../src/host/index.ts';
import { afterRecord, isBake, newJournalState, withNotes } from '../../../src/pipeline/journal.ts';
import type { JournalRecord } from '../../../src/pipeline/journal-record.ts';
import { PREPARED_PATH } from '../../../src/pipeline/machine-state.ts';
import {
  baseDigest,
  type Prepared,
  parsePrepared,
  preparedBy,
  readPrepared,
  removeBakeState,
  usableNotes,
  writePrepared,
} from '../../../src/pipeline/prepared.ts';
import { openJournal } from '../../../src/pipeline/run-journal.ts';
import { facts } from '../../support/facts.ts';
import { memoryHost } from '../../support/memory-host.ts';
import { begun, ended, identity, MACHINE_B } from './records.ts';

const NOTE = { step: 'images', change: 'images/a.tar', note: { fingerprint: 'f' } };
const JOURNAL = '/var/lib/machineadm/journal';
const STATUS = '/var/lib/machineadm/status.json';
const PRIOR_STATES = '/var/lib/machineadm/prior-state';
const SUMMARY = '/var/lib/machineadm/summary.json';

function stateOf(...records: readonly JournalRecord[]) {
  return records.reduce(afterRecord, newJournalState(identity(), false));
}

async function document(sections: object) {
  const whole = {
    apiVersion: 'machineadm.dev/v1alpha1',
    kind: 'MachineBootstrap',
    metadata: { name: 'a' },
    ...sections,
  };
  const bytes = new TextEncoder().encode(stringify(whole));
  const result = await loadDocument([{ name: 'base.yaml', bytes }], { agentVersion: '0.1.0' });
  assert.ok(result.ok, JSON.stringify(result));
  return result.document;
}

const HOST = { kernelModules: ['overlay'], sysctl: { 'net.ipv4.ip_forward': 1 } };

async function manifest(): Promise<Prepared> {
  const made = new Map([['sysctl', ['sysctl/file']]]);
  const options = { document: await document({ host: HOST }), facts: facts(), agentVersion: '0.1.0' };
  return preparedBy(options, made, withNotes(stateOf(begun('1', { command: 'prepare' })), [NOTE]), undefined);
}

describe('the journal of an image bake', () => {
  const bake = [begun('1', { command: 'prepare' }), ended('1')];

  test('is one where nothing but prepare ever began', () => {
    assert.equal(isBake(stateOf(...bake)), true);
    assert.equal(isBake(stateOf(begun('1', { command: 'prepare' }))), true, 'a bake that was killed is a bake');
    assert.equal(isBake(stateOf(...bake, begun('2'))), false);
    assert.equal(isBake(stateOf()), false, 'nothing is known of what was done');
    assert.equal(isBake({ ...stateOf(...bake), foreign: true }), false, 'baked on the disk of a node');
  });

  describe('on the disk of another machine', () => {
    let directory = '';
    beforeEach(() => {
      directory = mkdtempSync(join(tmpdir(), 'machineadm-bake-'));
    });
    afterEach(() => rmSync(directory, { recursive: true }));

    test('reports no foreign node, and is set aside', async () => {
      const path = join(directory, 'journal');
      const host = openQueryHost();
      const baking = await openJournal(host, identity(), path);
      for (const record of bake) baking.append(record);
      baking.close();
      const booted = await openJournal(host, identity({ machineId: MACHINE_B }), path, [NOTE]);
      assert.equal(booted.record('kubeadm-reset').foreignLeftovers, false);
      assert.deepEqual(booted.record('images').notes.get(NOTE.change), NOTE.note);
      booted.close();
      assert.equal(readdirSync(directory).length, 2);
    });
  });
});

describe('the manifest of an image', () => {
  test('says what was done, with a digest of what was asked for, and survives being written', async () => {
    const host = memoryHost();
    const prepared = await manifest();
    assert.deepEqual(
      prepared.steps.map(({ step, changes }) => [step, changes]),
      [['sysctl', ['sysctl/file']]],
    );
    assert.match(prepared.steps[0]?.sha256 ?? '', /^[0-9a-f]{64}$/);
    await writePrepared(host, prepared);
    assert.deepEqual(await readPrepared(host), prepared);
    assert.deepEqual(host.log, [`write ${PREPARED_PATH} 0600 0:0`, `sync ${PREPARED_PATH}`]);
  });

  test('names nothing of the machine that baked it', async () => {
    const text = JSON.stringify(await manifest());
    for (const own of [facts().machineId, facts().bootId, facts().hostname]) assert.ok(!text.includes(own), own);
  });

  test('of a second bake has what the first one did', async () => {
    const first = await manifest();
    const options = { document: await document({ host: HOST }), facts: facts(), agentVersion: '0.1.0' };
    const second = preparedBy(options, new Map([['swap', ['swap/off']]]), stateOf(), first);
    assert.deepEqual(
      second.steps.map(({ step }) => step),
      ['sysctl', 'swap'],
    );
    assert.deepEqual(second.notes, [NOTE]);
  });

  test('knows the document by the parts that matter to an image', async () => {
    const digest = baseDigest(await document({ host: HOST }));
    const { kernelModules, sysctl } = HOST;
    assert.equal(
      baseDigest(await document({ host: { sysctl, kernelModules } })),
      digest,
      'the order of keys is nothing',
    );
    assert.equal(baseDigest(await document({ host: HOST, metadata: { name: 'b' } })), digest);
    assert.notEqual(baseDigest(await document({ host: { ...HOST, swap: 'Disabled' } })), digest);
  });

  for (const [what, text] of [
    ['damaged', '{"version":1,'],
    ['of another version', '{"version":2}'],
    [
      'without its parts',
      '{"version":1,"agentVersion":"0.1.0","preparedAt":"","baseSha256":"","steps":[1],"notes":[]}',
    ],
  ] as const) {
    test(`is none when it is ${what}`, () => assert.equal(parsePrepared(text), undefined));
  }

  test('is applied on the machines booted from the image, and not on the copy of a node', async () => {
    const prepared = await manifest();
    const other = identity({ machineId: MACHINE_B });
    const bake = stateOf(begun('1', { command: 'prepare' }));
    const node = stateOf(begun('1'));
    assert.deepEqual(usableNotes(prepared, undefined, other), [NOTE]);
    assert.deepEqual(usableNotes(prepared, bake, other), [NOTE]);
    assert.deepEqual(usableNotes(prepared, node, identity()), [NOTE]);
    assert.deepEqual(usableNotes(prepared, node, other), []);
    assert.deepEqual(usableNotes(undefined, undefined, other), []);
  });

  test('never replaces what this machine recorded itself', () => {
    const own = { ...NOTE, note: { fingerprint: 'own' } };
    const state = withNotes(withNotes(stateOf(), [own]), [NOTE]);
    assert.deepEqual(state.steps.get('images')?.notes.get(NOTE.change), own.note);
  });
});

describe('after a bake', () => {
  const machine = () => memoryHost({ files: { [JOURNAL]: 'x', [STATUS]: '{}', [SUMMARY]: '{}' } });

  test('nothing stays but the manifest', async () => {
    const host = machine();
    await host.writeFile({ path: `${PRIOR_STATES}/key`, content: 'k', mode: 0o600 });
    await removeBakeState(host, stateOf(begun('1', { command: 'prepare' }), ended('1')), STATUS);
    assert.deepEqual([JOURNAL, STATUS, SUMMARY].map(host.text), [undefined, undefined, undefined]);
    assert.equal(await host.stat(PRIOR_STATES), undefined, 'not even an empty directory');
  });

  for (const [what, state] of [
    ['this machine is a node', stateOf(begun('1'), ended('1'), begun('2', { command: 'prepare' }), ended('2'))],
    [
      'something is still owed',
      stateOf(begun('1', { command: 'prepare' }), { is: 'owed', step: 's', change: 'c', followUps: ['daemon-reload'] }),
    ],
  ] as const) {
    test(`the journal stays where ${what}`, async () => {
      const host = machine();
      await removeBakeState(host, state, STATUS);
      assert.deepEqual([JOURNAL, STATUS, SUMMARY].map(host.text), ['x', '{}', '{}']);
    });
  }
});
