import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostWithout } from '../../../src/pipeline/plan.ts';
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

test('a unit whose file goes is stopped and disabled by then; another stays as it is', async () => {
  const host = memoryHost({
    services: { 'app.service': { active: true, enabled: true }, other: { active: true, enabled: true } },
  });
  const planned = hostWithout(host, ['/etc/systemd/system/app.service', '/etc/systemd/system/other.service.d/a.conf']);
  const seen = async (name: string) => {
    const { active, enabled } = await planned.service(name);
    return [active, enabled];
  };
  assert.deepEqual(
    [await seen('app'), await seen('app.service'), await seen('other')],
    [
      [false, false],
      [false, false],
      [true, true],
    ],
  );
});
