import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { appendFileSync, readdirSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import type { SinkReport } from '@machineadm/status/status.ts';
import {
  assertUndisturbed,
  deliverersSettled,
  flushed,
  freshMachine,
  type Provisioned,
  provisionWith,
  reports,
  shell,
  waiting,
} from './sink-faults.ts';

/**
 * What a document gives its sinks after a run all of whose receivers are broken: each is tried once at least, and whether it
 * is tried again before the test repairs it is not what is tested.
 */
const DEADLINE = '1s';
const SPOOL = '/var/lib/machineadm/spool';

/** A sink of the document, and what its receiver took. */
export interface FaultySink {
  readonly name: string;
  readonly sink: object;
  /** Ids in the order in which they came, each as often as it came. */
  readonly taken: () => readonly string[] | Promise<readonly string[]>;
}

/** Receivers that are broken in one way, and how to repair them. */
export interface Faulty {
  readonly sinks: readonly FaultySink[];
  /** Awaited where it is a promise. */
  readonly repair: () => unknown;
  /** What else is true of the receivers before they are repaired. */
  readonly before?: () => void;
  /** What else is true of them in the end. */
  readonly after?: () => void;
}

/** Starts broken receivers; what has to be ended belongs to the stack. */
export type StartFaulty = (stack: AsyncDisposableStack) => Promise<Faulty>;

export interface FaultOptions {
  readonly secrets?: object;
  /** The disk of the spool has no room for anything, until the work is done. */
  readonly fullDisk?: boolean;
  /** Why it cannot be tested here. */
  readonly skip?: string | false;
}

/** What a run and a flush after the repair made of one sink. */
interface Survived {
  readonly report: SinkReport | undefined;
  readonly left: readonly string[];
  readonly takenBefore: readonly string[];
  readonly takenAfter: readonly string[];
}

/**
 * What is true of every sink and every fault, here of all at once, as one unlucky machine may have them: the run is
 * undisturbed; what was not taken waits and is told of; once the faults are repaired all of it is delivered, each event
 * once, in order; then nothing is left. One test a fault.
 */
export function describeFaults(
  title: string,
  faults: Readonly<Record<string, StartFaulty>>,
  { secrets, fullDisk = false, skip = false }: FaultOptions = {},
): void {
  describe(title, { skip }, () => {
    const stack = new AsyncDisposableStack();
    const broken = new Map<string, Faulty>();
    const survived = new Map<FaultySink, Survived>();
    let provisioned: Provisioned;

    const prepare = async (): Promise<void> => {
      await freshMachine();
      using _ = fullDisk ? fullSpoolDisk() : undefined;
      for (const [fault, start] of Object.entries(faults)) broken.set(fault, await start(stack));
      const all = [...broken.values()];
      const sinks = all.flatMap((faulty) => faulty.sinks);
      provisioned = await provisionWith(
        sinks.map(({ name, sink }) => ({ ...sink, name })),
        { ...(secrets === undefined ? {} : { secrets }), deadline: DEADLINE },
      );
      await deliverersSettled(sinks.map(({ name }) => name));
      const left = waiting();
      const told = reports();
      const takenBefore = await takenBy(sinks);
      for (const { before: look } of all) look?.();
      await Promise.all(all.map(async ({ repair }) => await repair()));
      // Ends as soon as everything is delivered; a busy machine takes its time.
      const flush = await flushed('--within', '3m');
      assert.equal(flush.status, 0, flush.stdout + flush.stderr);
      const takenAfter = await takenBy(sinks);
      for (const sink of sinks) {
        survived.set(sink, {
          report: told.find((report) => report.sink === sink.name),
          left: left[sink.name] ?? [],
          takenBefore: takenBefore.get(sink) ?? [],
          takenAfter: takenAfter.get(sink) ?? [],
        });
      }
      assert.deepEqual(waiting(), {}, 'nothing is left');
      const again = await flushed();
      assert.deepEqual([again.status, again.stdout], [0, 'nothing waits\n']);
      if (fullDisk) assert.deepEqual(readdirSync(SPOOL), ['full'], 'nothing found room on the disk');
    };
    before(async () => {
      try {
        await prepare();
      } catch (error) {
        // Receivers that still listen would keep this process for ever.
        await stack.disposeAsync();
        throw error;
      }
    });
    after(async () => await stack.disposeAsync());

    test('the run ends as it would have, and nobody waits', () => {
      assertUndisturbed(provisioned);
    });

    for (const fault of Object.keys(faults)) {
      test(fault, () => {
        const faulty = broken.get(fault) ?? assert.fail();
        for (const sink of faulty.sinks)
          assertSurvived(sink.name, survived.get(sink) ?? assert.fail(), provisioned.status.runId);
        faulty.after?.();
      });
    }
  });
}

function assertSurvived(name: string, { report, left, takenBefore, takenAfter }: Survived, runId: string): void {
  assert.equal(report?.state, 'Pending', `${name}: ${JSON.stringify(report)}`);
  assert.ok((report.message ?? '') !== '', `${name} says why`);
  assert.equal(left.length, report.pending, name);
  assert.deepEqual(takenBefore, [], `${name} took nothing`);
  assert.equal(new Set(takenAfter).size, takenAfter.length, `${name}: each event once`);
  // Who is told when another sink fails once more, on a machine that is too busy, depends on who was first.
  const [came, waited] = [takenAfter, left].map((ids) => ids.filter((id) => !id.includes('.sink.')));
  assert.match(waited?.at(-1) ?? '', new RegExp(`^${runId}\\.\\d+$`), `${name}: the conclusion waits`);
  assert.deepEqual(came, waited, `${name}: what waited came, in order`);
}

async function takenBy(sinks: readonly FaultySink[]): Promise<ReadonlyMap<FaultySink, readonly string[]>> {
  return new Map(await Promise.all(sinks.map(async (sink) => [sink, [...(await sink.taken())]] as const)));
}

function fullSpoolDisk(): Disposable {
  shell(`mkdir -p ${SPOOL}; mount -t tmpfs -o size=16k,mode=700 none ${SPOOL}`);
  shell(`dd if=/dev/zero of=${SPOOL}/full bs=1k 2>/dev/null || true`);
  return { [Symbol.dispose]: () => void shell(`umount -l ${SPOOL}`) };
}

/**
 * Makes the only resolver of this machine one that takes questions and never answers. It is asked for two seconds, longer than
 * an agent may take to end, and not for the ten that are usual (resolv.conf(5)): that long a deliverer would not end.
 */
export async function silenceResolver(stack: AsyncDisposableStack): Promise<void> {
  const resolver = createSocket('udp4');
  resolver.bind(53, '127.0.0.1');
  await once(resolver, 'listening');
  stack.defer(() => void resolver.close());
  writeFileSync('/etc/resolv.conf', 'nameserver 127.0.0.1\noptions timeout:2 attempts:1\n');
}

/** A name of this machine that needs no resolver. */
export function makeKnown(name: string): void {
  appendFileSync('/etc/hosts', `\n127.0.0.1 ${name}\n`);
}
