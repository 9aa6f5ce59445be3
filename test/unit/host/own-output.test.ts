import assert from 'node:assert/strict';
import { closeSync, fstatSync, openSync } from 'node:fs';
import { test } from 'node:test';
import { ownOutput } from '../../../src/host/services/own-output.ts';

const OUTPUTS: readonly (readonly [string, string])[] = [
  ['StandardOutput=journal+console\nStandardError=inherit\n', 'journal and console'],
  ['StandardOutput=journal\nStandardError=journal+console\n', 'journal and console'],
  ['StandardOutput=journal+console\nStandardError=journal\n', 'journal'],
  ['StandardOutput=journal\nStandardError=inherit\n', 'journal'],
];

test('standard error is the journal where its device and inode say so; the unit knows of the console', async () => {
  const descriptor = openSync(import.meta.filename, 'r');
  const { dev, ino } = fstatSync(descriptor, { bigint: true });
  const asked: string[] = [];
  const host = (shown: string, group = '0::/system.slice/machineadm-provision.service\n') => ({
    readText: async () => group,
    query: async ({ args }: { readonly args: readonly string[] }) => {
      asked.push(args.join(' '));
      return { status: 0, stdout: shown, stderr: '', timedOut: false };
    },
  });
  for (const [shown, expected] of OUTPUTS)
    assert.equal(await ownOutput(host(shown), `${dev}:${ino}`, descriptor), expected);
  assert.equal(asked[0], 'show --property=StandardOutput,StandardError machineadm-provision.service');
  const [[first]] = OUTPUTS as [readonly [string, string]];
  assert.equal(
    await ownOutput(host(first, '0::/user.slice/session-1.scope\n'), `${dev}:${ino}`, descriptor),
    'journal',
  );
  assert.equal(await ownOutput(host(first), `${dev}:${ino + 1n}`, descriptor), 'elsewhere');
  assert.equal(await ownOutput(host(first), undefined, descriptor), 'elsewhere');
  closeSync(descriptor);
});
