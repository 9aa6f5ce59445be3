import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DOCUMENT_VERSIONS } from '@machineadm/document/versions/index.ts';
import { nextVersion } from '../../fixtures/next-document-version.ts';
import { load } from '../../support/document.ts';

const NEXT = 'apiVersion: machineadm.dev/v2\nkind: MachineBootstrap\nmachine: n1\nhost: {swap: false}\n';
const OLD =
  'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: n1}\nhost: {swap: Disabled}\n';

test('a document of the old version stays valid with the next one: both convert to the same model', async () => {
  const versions = [...DOCUMENT_VERSIONS, nextVersion];
  const [old, next] = [await load(OLD, versions), await load(NEXT, versions)];
  assert.ok(old.ok && next.ok);
  assert.deepEqual(next.document.model, old.document.model);
});

test('an agent that does not know the next version refuses it by name', async () => {
  const result = await load(NEXT);
  assert.ok(!result.ok);
  assert.match(result.problems[0]?.message ?? '', /this agent does not read "machineadm.dev\/v2"/);
});
