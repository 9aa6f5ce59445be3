import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostWithout } from '../../../src/pipeline/planned-host.ts';
import { memoryHost } from '../../support/memory-host.ts';

test('later steps plan on the machine without what an earlier change deletes', async () => {
  const host = memoryHost({ files: { '/etc/pki/ca.crt': 'x', '/etc/pki-other': 'y', '/etc/kept': 'z' } });
  const planned = hostWithout(host, ['/etc/pki']);
  assert.equal(await planned.readText('/etc/pki/ca.crt'), undefined);
  assert.equal(await planned.stat('/etc/pki'), undefined);
  assert.equal(await planned.sha256('/etc/pki/ca.crt'), undefined);
  assert.equal(await planned.readText('/etc/pki-other'), 'y');
  assert.equal(await planned.readText('/etc/kept'), 'z');
  assert.equal(hostWithout(host, []), host);
});
