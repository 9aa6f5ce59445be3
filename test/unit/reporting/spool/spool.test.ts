import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ReportEvent } from '@machineadm/status/event.ts';
import { withChecksum } from '../../../../src/host/files/checksum.ts';
import { isExpired, SPOOL_LIMITS, Spool } from '../../../../src/reporting/spool/spool.ts';
import { errno, memoryHost } from '../../../support/memory-host.ts';
import { reported } from '../events.ts';

const DISK = '/var/lib/machineadm/spool';
const MEMORY = '/run/machineadm/spool';

async function idsOf(spool: Spool, sink: string): Promise<string[]> {
  return (await spool.waiting(sink)).map(({ id }) => id);
}

describe('the spool', () => {
  test('keeps the order of each sink, and what was added as it was', async () => {
    const spool = new Spool(memoryHost());
    for (const sequence of [1, 2, 10]) await spool.add('a', reported({ sequence }));
    await spool.add('b', reported({ sequence: 3 }));
    assert.deepEqual(await idsOf(spool, 'a'), ['run-1.1', 'run-1.2', 'run-1.10']);
    assert.deepEqual(await idsOf(spool, 'b'), ['run-1.3']);
    const [first] = await spool.waiting('a');
    assert.deepEqual(first && (await spool.read(first)), reported({ sequence: 1 }));
  });

  test('continues counting where another process left off', async () => {
    const host = memoryHost();
    await new Spool(host).add('a', reported({ sequence: 9 }));
    await new Spool(host).add('a', reported({ runId: 'a-later-run', sequence: 1 }));
    assert.deepEqual(await idsOf(new Spool(host), 'a'), ['run-1.9', 'a-later-run.1']);
  });

  test('is for root alone', async () => {
    const host = memoryHost();
    const spool = new Spool(host);
    await spool.putPlan('a', 'plan');
    await spool.add('a', reported());
    assert.equal((await host.stat(DISK))?.mode, 0o700);
    for (const name of (await host.list(DISK)) ?? []) assert.equal((await host.stat(`${DISK}/${name}`))?.mode, 0o600);
  });

  test('is in memory where the disk is full, and the order is one', async () => {
    const host = memoryHost();
    let isFull = false;
    const failing = {
      ...host,
      writeFile: async (file: Parameters<typeof host.writeFile>[0]) => {
        if (isFull && file.path.startsWith(DISK)) throw errno('ENOSPC');
        return host.writeFile(file);
      },
    };
    const spool = new Spool(failing);
    await spool.add('a', reported({ sequence: 1 }));
    await spool.putPlan('a', 'old');
    isFull = true;
    await spool.add('a', reported({ sequence: 2 }));
    await spool.putPlan('a', 'new');
    isFull = false;
    await spool.add('a', reported({ sequence: 3 }));
    assert.deepEqual(await idsOf(spool, 'a'), ['run-1.1', 'run-1.2', 'run-1.3']);
    assert.equal((await spool.plans()).get('a'), 'new');
    assert.equal((await host.list(MEMORY))?.length, 2);
  });

  test('throws where nothing can be written', async () => {
    const failing = { ...memoryHost(), writeFile: () => Promise.reject(errno('EROFS')) };
    await assert.rejects(new Spool(failing).add('a', reported()), { code: 'EROFS' });
  });

  test('drops the oldest above its limit, and the conclusion of a run last', async () => {
    const spool = new Spool(memoryHost());
    await spool.add('a', reported({ sequence: 1, type: 'concluded' }));
    for (let sequence = 2; sequence <= SPOOL_LIMITS.events; sequence += 1) await spool.add('a', reported({ sequence }));
    assert.equal(await spool.add('a', reported({ sequence: 500 })), 1);
    const ids = await idsOf(spool, 'a');
    assert.equal(ids.length, SPOOL_LIMITS.events);
    assert.deepEqual(ids.slice(0, 2), ['run-1.1', 'run-1.3']);
    assert.equal(ids.at(-1), 'run-1.500');
  });

  test('is bounded in bytes, each event and all together', async () => {
    const host = memoryHost();
    const spool = new Spool(host);
    const warnings = Array.from({ length: 5000 }, (_, index) => `warning ${index} ${'w'.repeat(100)}`);
    for (let sequence = 1; sequence <= 20; sequence += 1) {
      const message = 'm'.repeat(200_000);
      await spool.add('a', reported({ sequence, warnings, message }));
    }
    const sizes = await Promise.all(
      (await spool.waiting('a')).map(async ({ path }) => (await host.stat(path))?.size ?? 0),
    );
    assert.ok(Math.max(...sizes) <= SPOOL_LIMITS.eventBytes + 1);
    assert.ok(sizes.reduce((sum, size) => sum + size, 0) <= SPOOL_LIMITS.bytes);
    assert.ok(sizes.length >= 5);
  });

  test('has no event whose content the disk lost', async () => {
    const host = memoryHost();
    const spool = new Spool(host);
    await spool.add('a', reported());
    const [waiting] = await spool.waiting('a');
    assert.ok(waiting);
    await host.writeFile({ path: waiting.path, content: '\0\0\0', mode: 0o600 });
    assert.equal(await spool.read(waiting), undefined);
  });

  test('has no event that was damaged, and keeps the damaged file byte for byte', async () => {
    const host = memoryHost();
    const spool = new Spool(host);
    await spool.add('a', reported({ sequence: 1 }));
    const [event] = await spool.waiting('a');
    assert.ok(event !== undefined);
    const text = (await host.readText(event.path)) ?? '';
    const damaged = text.replace('run-1', 'run-2');
    assert.notEqual(damaged, text);
    await host.writeFile({ path: event.path, content: damaged, mode: 0o600 });
    assert.equal(await spool.read(event), undefined);
    await spool.setAside(event);
    assert.deepEqual(await idsOf(spool, 'a'), []);
    assert.equal(await host.readText(`${DISK}/quarantine/${event.path.slice(DISK.length + 1)}`), damaged);
  });

  test('counts the events dropped to make room, and reports a damaged state', async () => {
    const host = memoryHost();
    const spool = new Spool(host);
    for (let sequence = 1; sequence <= SPOOL_LIMITS.events + 3; sequence += 1)
      await spool.add('a', reported({ sequence }));
    assert.equal((await spool.state('a')).lost, 3);
    const path = `${DISK}/a~state.json`;
    await host.writeFile({
      path,
      content: ((await host.readText(path)) ?? '').replace('"lost":3', '"lost":1'),
      mode: 0o600,
    });
    assert.deepEqual(await spool.state('a'), { failures: 0, refused: 0, lost: 0, told: false, unreadable: true });
    assert.match((await host.readText(`${DISK}/quarantine/a~state.json`)) ?? '', /"lost":1/);
  });

  test('keeps what is known of a sink as it was, and forgets a sink with all its files', async () => {
    const host = memoryHost();
    const spool = new Spool(host);
    const state = { failures: 2, refused: 3, lost: 4, told: true, lastError: 'status 75', unreadable: true } as const;
    await spool.putState('a', state);
    await spool.putPlan('a', 'plan');
    assert.deepEqual(await spool.state('a'), state);
    assert.deepEqual(await spool.state('b'), { failures: 0, refused: 0, lost: 0, told: false });
    await spool.forget('a');
    assert.deepEqual(await host.list(DISK), []);
  });

  for (const content of [
    'null',
    '[]',
    '{"failures":1,"refused":1}',
    '{"failures":1,"lost":1}',
    '{"refused":1,"lost":1}',
  ]) {
    test(`a state that is ${content} is damaged`, async () => {
      const host = memoryHost();
      await host.writeFile({ path: `${DISK}/a~state.json`, content: withChecksum(content), mode: 0o600 });
      assert.equal((await new Spool(host).state('a')).unreadable, true);
    });
  }

  test('takes a damaged plan for none, and keeps it', async () => {
    const host = memoryHost();
    const spool = new Spool(host);
    await spool.putPlan('a', '{"to":"plan"}');
    await spool.putPlan('b', '{"to":"b"}');
    host.put(`${DISK}/a~sink.json`, (host.text(`${DISK}/a~sink.json`) ?? '').replace('plan', 'plam'));
    host.put(`${DISK}/c~sink.json`, '');
    assert.deepEqual([...(await spool.plans())], [['b', '{"to":"b"}']]);
    assert.match(host.text(`${DISK}/quarantine/a~sink.json`) ?? '', /plam/);
  });

  test('names the sinks that something waits for, and flushes the first root that is there', async () => {
    const host = memoryHost();
    const spool = new Spool(host);
    await spool.sync();
    assert.equal(host.log.length, 0);
    await spool.add('a', reported());
    await spool.putPlan('b', 'plan');
    assert.deepEqual([...(await spool.sinksWaitedFor())], ['a']);
    host.put(`${MEMORY}/x`, '');
    await spool.sync();
    assert.deepEqual(
      host.log.filter((line) => line.startsWith('sync')),
      [`sync ${DISK}`],
    );
  });

  test('orders events of one number, which two processes gave, by their names', async () => {
    const host = memoryHost({
      files: { [`${MEMORY}/a~000000001~run-1.1.json`]: '', [`${DISK}/a~000000001~run-2.1.json`]: '' },
    });
    assert.deepEqual(await idsOf(new Spool(host), 'a'), ['run-1.1', 'run-2.1']);
  });

  test('overlooks what is not its own, a half-written file of a killed process included', async () => {
    const host = memoryHost();
    await host.writeFile({ path: `${DISK}/.a~000000001~run-1.1.json.machineadm-new`, content: '{', mode: 0o600 });
    await host.writeFile({ path: `${DISK}/README`, content: '', mode: 0o600 });
    assert.deepEqual(await idsOf(new Spool(host), 'a'), []);
    assert.deepEqual([...(await new Spool(host).plans())], []);
  });
});

describe('an event expires', () => {
  const event: ReportEvent = reported({ time: '2026-11-20T10:00:00.000Z', sinceBootMs: 1000 });
  const day = 24 * 3_600_000;
  const at = (days: number, sinceBootMs: number) => ({ time: Date.parse(event.time) + days * day, sinceBootMs });

  test('after a week, by the wall clock after a reboot', () => {
    assert.equal(isExpired(event, at(6.9, 5), 'another boot'), false);
    assert.equal(isExpired(event, at(7.1, 5), 'another boot'), true);
    assert.equal(isExpired(event, at(7, 5), 'another boot'), false);
  });

  test('after a week, by the clock that does not jump within a boot', () => {
    assert.equal(isExpired(event, at(9000, 6 * day), event.host.bootId), false);
    assert.equal(isExpired(event, at(0, 8 * day), event.host.bootId), true);
  });

  test('not because the clock had not been set when it happened', () => {
    const early = { ...event, time: '1970-01-01T00:00:09.000Z' };
    assert.equal(isExpired(early, at(0, 5), 'another boot'), false);
    assert.equal(isExpired(early, at(0, 8 * day), event.host.bootId), true);
  });
});
