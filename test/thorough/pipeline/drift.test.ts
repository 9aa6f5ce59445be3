import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, test } from 'node:test';
import { DRIFTS, EVERYTHING } from '../../support/all-cases.ts';
import { loaded } from '../../support/document.ts';
import { AT_EVERY_BOOT, driftMachine } from '../../support/drift-machine.ts';
import { type Drift, type Drifts, put } from '../../support/feature-cases.ts';
import { type HostRun, planHost, runHost } from '../../support/host-run.ts';
import type { MemoryFile, MemoryHost } from '../../support/memory-host.ts';
import { leafFields } from '../../support/schema-fields.ts';
import { noPauses } from '../../support/short-pauses.ts';
import { assertSameTree, treeOf } from '../../support/undo-bench.ts';
import { memoryJournal } from '../../unit/pipeline/fake-steps.ts';

/** A machine in memory that is as its document wants it. */
interface Settled extends HostRun {
  /** As it is without drift. */
  readonly tree: readonly string[];
  /** Files that the run made. */
  readonly made: readonly string[];
}

async function settled(document: string): Promise<Settled> {
  const { model } = await loaded(document);
  const [machine, journal] = [driftMachine(), memoryJournal()];
  const before = new Set(treeOf(machine).map((line) => line.split(' ')[0]));
  await runHost({ machine, journal, model });
  assert.deepEqual(unflushed(machine.log), [], 'a power cut takes nothing of the run back');
  const tree = treeOf(machine);
  const made = machine.snapshot().flatMap((line) => {
    const [path = '', type] = line.split(' ');
    return type === 'file' && !before.has(path) ? [path] : [];
  });
  return { machine, journal, model, tree, made };
}

/** One machine for all cases of a document: each must leave it as it was. One that did not is not used again. */
function machineFor(document: string) {
  let current: Settled | undefined;
  return async (use: (settled: Settled) => Promise<void>, stays = false): Promise<void> => {
    const own = current ?? (await settled(document));
    current = undefined;
    await use(own);
    if (stays) return;
    assertSameTree(own.machine, own.tree, 'after the repair');
    current = own;
  };
}

/** What a boot forgets anyway. */
const VOLATILE = /^\/(?:run|proc|sys|dev|tmp)\//;

/** Paths that were changed and that nothing made durable afterwards: a power cut could take the change back. */
function unflushed(log: readonly string[]): readonly string[] {
  const changed = new Set<string>();
  for (const line of log) {
    const [verb = '', path = ''] = line.split(' ');
    if (verb === 'sync') {
      for (const one of changed)
        if (one === path || `${one}/`.startsWith(path === '/' ? path : `${path}/`)) changed.delete(one);
    } else if (/^(?:write|link|remove|rmdir|mkdir|chmod|chown)$/.test(verb) && !VOLATILE.test(path)) changed.add(path);
  }
  return [...changed];
}

async function repaired(settled: Settled): Promise<void> {
  const begin = settled.machine.log.length;
  await runHost(settled);
  assert.deepEqual(unflushed(settled.machine.log.slice(begin)), [], 'a power cut takes nothing of the repair back');
  assert.deepEqual(await planHost(settled), [], 'a second run changes nothing');
}

/** The entry of the table for a field: of those that match, the one that names the most of it. */
function entryFor(field: string): readonly [pattern: string, entry: Drifts] | undefined {
  const matching = Object.entries(DRIFTS).filter(([pattern]) => {
    const escaped = pattern
      .replace(/[.[\]]/g, '\\$&')
      .replaceAll('**', '\0')
      .replaceAll('*', '[^.]+');
    return new RegExp(`^${escaped.replaceAll('\0', '.+')}$`).test(field);
  });
  return matching.sort(([a], [b]) => b.replaceAll('*', '').length - a.replaceAll('*', '').length)[0];
}

const FIELDS = leafFields().filter((field) => /^(?:host|containerRuntime)\./.test(field));

describe('the table of drifts', () => {
  noPauses();
  test('has every field of the host and of the container runtime, and no other', () => {
    const entries = FIELDS.map((field) => [field, entryFor(field)] as const);
    assert.deepEqual(
      entries.filter(([, entry]) => entry === undefined).map(([field]) => field),
      [],
      'add what can change of a new field on a machine to test/unit/features/NAME/cases.ts',
    );
    const used = new Set(entries.map(([, entry]) => entry?.[0]));
    assert.deepEqual(
      Object.keys(DRIFTS).filter((pattern) => !used.has(pattern)),
      [],
    );
  });

  for (const [field, drifts] of Object.entries(DRIFTS)) {
    if (!('elsewhere' in drifts)) continue;
    const [file, title] = drifts.elsewhere;
    test(`of ${field} names a test that is there`, () => {
      const text = readFileSync(resolve(import.meta.dirname, '../../..', file), 'utf8');
      assert.ok(text.includes(title), `${file} has no "${title}"`);
    });
  }
});

describe('what changed behind the back of machineadm', () => {
  noPauses();
  const on = machineFor(EVERYTHING);
  const cases = Object.entries(DRIFTS).flatMap(([field, drifts]) =>
    Array.isArray(drifts) ? drifts.map((drift: Drift) => [field, drift] as const) : [],
  );
  for (const [field, { what, by, finds, stays }] of cases) {
    test(`${field}, ${what}: is found as ${finds.join(', ')}, and repaired`, async () => {
      await on(async (settled) => {
        await by(settled.machine);
        assert.deepEqual(await planHost(settled), finds);
        await repaired(settled);
      }, stays);
    });
  }
});

const LINK = 'a link instead of it';

/** What can become of a file that only machineadm writes. */
const OF_A_FILE: Readonly<Record<string, (machine: MemoryHost, path: string) => Promise<void>>> = {
  'another content': (machine, path) => put(machine, path, { content: `${machine.text(path)}# x\n` }),
  'no file': async (machine, path) => machine.take(path),
  'a mode that keeps others from reading it, or lets them': async (machine, path) => {
    const { mode = 0 } = (await machine.stat(path)) ?? {};
    await put(machine, path, { mode: (mode & 0o004) === 0 ? 0o644 : 0o600 });
  },
  'a mode that lets others write': (machine, path) => put(machine, path, { mode: 0o666 }),
  'another owner': (machine, path) => put(machine, path, { uid: 1000 }),
  'another group': (machine, path) => put(machine, path, { gid: 1000 }),
  [LINK]: async (machine, path) =>
    machine.put(path, { type: 'symlink', content: '/etc/elsewhere', mode: 0o777 } satisfies MemoryFile),
};

/** Made by a run, and then somebody else's; and copies of what was there before. */
const OF_OTHERS =
  /\.machineadm-orig$|^\/var\/lib\/machineadm\/prior-state\/|^\/(?:proc|sys|dev)\/|^\/srv\/homes\/grace\/|^\/var\/lib\/selinux\/|^\/etc\/selinux\/targeted\//;

for (const [name, document] of Object.entries({ everything: EVERYTHING, 'hooks at every boot': AT_EVERY_BOOT })) {
  describe(`a file that a document with ${name} has machineadm write`, () => {
    const on = machineFor(document);
    for (const [what, change] of Object.entries(OF_A_FILE)) {
      test(`with ${what} is found, and repaired`, async () => {
        await on(async (settled) => {
          // Links in the place of files of the document are refused (files.test.ts); what another has put in the place of
          // containerd's files is kept beside them (containerd.test.ts).
          const laid = settled.model.host.files.map(({ path }) => path);
          const isOther = (path: string) =>
            what === LINK && (laid.includes(path) || path.startsWith('/etc/containerd/'));
          const files = settled.made.filter((path) => !OF_OTHERS.test(path) && !isOther(path));
          assert.ok(files.length > 0);
          for (const path of files) await change(settled.machine, path);
          assert.notDeepEqual(await planHost(settled), []);
          await repaired(settled);
        });
      });
    }
  });
}
