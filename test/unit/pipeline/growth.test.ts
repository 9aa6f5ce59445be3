import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { files } from '../../../src/features/files/index.ts';
import { openQueryHost } from '../../../src/host/index.ts';
import type { Host } from '../../../src/host/seam/host.ts';
import { openJournal, type RunJournal } from '../../../src/pipeline/run-journal.ts';
import { runSteps } from '../../../src/pipeline/runner.ts';
import { fileModel, hostModel } from '../../support/host-model.ts';
import { memoryHost } from '../../support/memory-host.ts';
import { runBench } from './fake-steps.ts';
import { identity } from './records.ts';

/** What a run of files asks of the machine: calls by name, those about one file, writes and lines of the journal. */
interface Work {
  readonly calls: Readonly<Record<string, number>>;
  readonly ofOne: Readonly<Record<string, number>>;
  readonly writes: number;
  readonly lines: number;
}

/** A host that counts. */
function counting(host: Host): { readonly host: Host; readonly of: (path?: string) => Record<string, number> } {
  const seen: (readonly [name: string, of: string])[] = [];
  const counted = Object.fromEntries(
    Object.entries(host).map(([name, value]: [string, unknown]) => {
      if (typeof value !== 'function') return [name, value];
      return [
        name,
        (...args: readonly unknown[]): unknown => {
          const [first] = args;
          const path = typeof first === 'object' && first !== null && 'path' in first ? first.path : first;
          seen.push([name, String(path)]);
          return Reflect.apply(value, host, args);
        },
      ];
    }),
  );
  const of = (path?: string): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (const [name, about] of seen) if (path === undefined || about === path) counts[name] = (counts[name] ?? 0) + 1;
    return counts;
  };
  return { host: { ...host, ...counted }, of };
}

async function workOf(count: number): Promise<Work> {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-growth-'));
  const path = join(directory, 'state/journal');
  try {
    const model = hostModel({
      files: Array.from({ length: count }, (_, index) =>
        fileModel(
          `/opt/growth/d${index % 5}/file${index}.conf`,
          `${index}
`,
        ),
      ),
    });
    const opened = await openJournal(openQueryHost(), identity(), path);
    let writes = 0;
    const journal: RunJournal = {
      ...opened,
      write() {
        writes += 1;
        opened.write();
      },
    };
    const before = readFileSync(path, 'utf8').split('\n').length;
    const { host, of } = counting(memoryHost());
    await runSteps([files], { ...runBench(), host, journal, model });
    opened.close();
    const lines = readFileSync(path, 'utf8').split('\n').length - before;
    return { calls: of(), ofOne: of(`/opt/growth/d${(count - 1) % 5}/file${count - 1}.conf`), writes, lines };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

describe('a run of many files', () => {
  test('makes the same number of calls for each file, however many there are', async () => {
    const [few, more, many] = [await workOf(50), await workOf(100), await workOf(200)];
    const perFile = (from: Work, to: Work, count: number) =>
      Object.fromEntries(
        [...new Set([...Object.keys(from.calls), ...Object.keys(to.calls)])]
          .map((name) => [name, ((to.calls[name] ?? 0) - (from.calls[name] ?? 0)) / count] as const)
          .filter(([, each]) => each !== 0),
      );
    // One look before its change, for the record: its directory did not exist when the run planned it. Two after it, for
    // its stamp and for the proof.
    const each = { stat: 3, sha256: 1, writeFile: 1 };
    assert.deepEqual(perFile(few, more, 50), each);
    assert.deepEqual(perFile(more, many, 100), each);
    assert.deepEqual(many.ofOne, each);
    assert.deepEqual([few.writes, more.writes, many.writes], [50, 100, 200]);
    assert.equal((more.lines - few.lines) / 50, 4);
    assert.equal((many.lines - more.lines) / 100, 4);
  });
});
