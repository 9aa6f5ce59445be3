import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { AttackedCluster, isTranslated, WORKER } from '../../support/attacked-cluster.ts';
import { needs } from '../../support/needs.ts';
import { until } from '../../support/translator.ts';

describe('a translator that somebody keeps busy, behind a real API server', {
  skip: needs('MACHINEADM_CAPI=DIRECTORY'),
  timeout: 900_000,
}, () => {
  let cluster: AttackedCluster;

  before(
    async () => {
      cluster = await AttackedCluster.start('profiles: {}');
    },
    { timeout: 300_000 },
  );
  after(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  test('connections that send nothing keep no Secret from its translation', async () => {
    const from = (text: string): Socket => {
      const socket = connect({ port: cluster.replica.webhookPort, host: '127.0.0.1', localAddress: '127.0.0.2' });
      socket.on('error', () => undefined).on('data', () => undefined);
      if (text !== '') socket.write(text);
      return socket;
    };
    const idle = Array.from({ length: 1200 }, (_, index) => from(index % 2 === 0 ? '' : 'not a handshake'));
    await Promise.all(idle.map((one) => new Promise((resolve) => one.once('connect', resolve).once('close', resolve))));
    const machine = await cluster.wanted('beside-idle');
    assert.ok(isTranslated(await machine.createSecret('cloud-config', WORKER)));
    await until('the idle ones are ended', () => idle.every(({ closed }) => closed));
  });

  test('a Secret that is costly to convert does not delay that of a neighbour', async () => {
    const lines = (count: number, line: (index: number) => string): string =>
      Array.from({ length: count }, (_, index) => line(index)).join('');
    const hostile = {
      'line breaks': `#cloud-config\nruncmd:\n- "${'\\n'.repeat(350_000)}"\n`,
      disk_setup: `#cloud-config\ndisk_setup:\n${lines(9_000, (at) => `  /dev/sd${at}: {table_type: gpt, layout: [[50, 82], 50], overwrite: true}\n`)}`,
      'open conditions': `#cloud-config\nruncmd:\n${lines(1_000, (at) => `- 'if true; then echo ${at}'\n`)}`,
    };
    let count = 0;
    const neighbour = async (): Promise<number> => {
      count += 1;
      const machine = await cluster.wanted(`neighbour-${count}`);
      const began = performance.now();
      assert.ok(isTranslated(await machine.createSecret('cloud-config', WORKER)), machine.name);
      return performance.now() - began;
    };
    const median = (all: readonly number[]): number => [...all].sort((a, b) => a - b)[all.length >> 1] ?? 0;
    await neighbour();
    for (const [name, userData] of Object.entries(hostile)) {
      const alone: number[] = [];
      const beside: number[] = [];
      for (const at of [1, 2, 3]) {
        alone.push(await neighbour());
        const machine = await cluster.wanted(`costly-${name.replace(/\W|_/g, '-')}-${at}`, {}, cluster.ofMallory);
        const costly = machine.createSecret('cloud-config', userData);
        beside.push(await neighbour());
        await costly;
        await until(
          'its Machine says what became of it',
          async () => (await cluster.conditionOf(machine)) !== undefined,
        );
      }
      // One of the two threads and one of the processors is left to the neighbour: it waits for the other half of its time, and for
      // the API server, which validates the costly Secret meanwhile. A queue behind it would add its whole budget, 3 s.
      const bound = Math.max(1_000, 8 * median(alone));
      console.log(`${name}: neighbour ${median(beside).toFixed(0)} ms, undisturbed ${median(alone).toFixed(0)} ms`);
      assert.ok(median(beside) < bound, `${name}: ${beside.join()} ms, and ${alone.join()} ms undisturbed`);
    }
  });
});
