import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { keepFiles, parseKeptFiles, restoreFiles } from '../../../../src/host/files/kept-files.ts';
import { memoryHost } from '../../../support/memory-host.ts';

describe('files that are kept during a change', () => {
  test('are restored as they were, and one that did not exist is removed', async () => {
    const host = memoryHost();
    await host.writeFile({ path: '/etc/there', content: 'before\n', mode: 0o640, gid: 7 });
    const kept = await keepFiles(host, ['/etc/there', '/etc/new', '/etc/there']);
    await host.writeFile({ path: '/etc/there', content: 'after\n', mode: 0o644 });
    await host.writeFile({ path: '/etc/new', content: 'after\n', mode: 0o644 });
    await restoreFiles(host, parseKeptFiles(JSON.parse(JSON.stringify(kept))) ?? assert.fail('it is not read back'));
    const stat = await host.stat('/etc/there');
    assert.deepEqual([host.text('/etc/there'), stat?.mode, stat?.gid], ['before\n', 0o640, 7]);
    assert.equal(await host.stat('/etc/new'), undefined);
  });

  test('are not used where anything in them is damaged', () => {
    const whole = { path: '/etc/there', content: 'before\n', mode: 0o640, gid: 7 };
    assert.deepEqual(parseKeptFiles([whole]), [whole]);
    const { content: _, gid: _g, ...absent } = whole;
    assert.deepEqual(parseKeptFiles([absent]), [absent]);
    for (const damage of [{ path: 1 }, { content: null }, { mode: '0640' }, { gid: 'root' }])
      assert.equal(parseKeptFiles([whole, { ...whole, ...damage }]), undefined, JSON.stringify(damage));
    assert.equal(parseKeptFiles(undefined), undefined);
  });
});
