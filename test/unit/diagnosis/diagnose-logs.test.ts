import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { diagnoseLogs } from '../../../src/diagnosis/diagnose-logs.ts';

const LINE = 'E1120 10:04:12.000000    4711 run.go:72] "command failed" err="running with swap on is not supported"';

describe('saved logs', () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'machineadm-logs-'));
  });
  after(() => rm(directory, { recursive: true }));
  const written = async (name: string, text: string): Promise<string> => {
    const path = join(directory, name);
    await writeFile(path, text);
    return path;
  };
  const sources = async (...paths: readonly string[]) =>
    (await diagnoseLogs(paths)).evidence.map(({ source }) => source);

  test('are named in the evidence where there are several of them', async () => {
    const [one, other] = [await written('one.log', `${LINE}\n`), await written('other.log', 'nothing\n')];
    const alone = await sources(one);
    assert.ok(alone.length > 0);
    for (const source of alone) assert.doesNotMatch(source, /\(one\.log\)$/);
    for (const source of await sources(one, other)) assert.match(source, / \((?:one|other)\.log\)$/);
  });

  for (const [name, why] of [
    ['none', 'it does not exist'],
    ['', 'it is a directory'],
  ] as const) {
    test(`that cannot be read are LogUnreadable: ${why}`, async () => {
      const path = join(directory, name);
      await assert.rejects(diagnoseLogs([path]), {
        reason: 'LogUnreadable',
        message: `the log ${path} cannot be read: ${why}`,
      });
    });
  }
});
