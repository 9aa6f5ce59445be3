import assert from 'node:assert/strict';
import type { Model } from '@machineadm/document/model/index.ts';
import { madeIn, resetRecords } from '../../src/commands/reset/journal.ts';
import { activeDirectoryStep } from '../../src/features/active-directory/index.ts';
import type { DirectoryNetwork } from '../../src/host/network/directory.ts';
import type { Host } from '../../src/host/seam/host.ts';
import { newJournalState, readJournal } from '../../src/pipeline/journal.ts';
import { PIPELINE, STEPS_BY_ID } from '../../src/pipeline/pipeline.ts';
import { runSteps } from '../../src/pipeline/runner.ts';
import type { Step } from '../../src/step/index.ts';
import { performReset } from '../../src/undo/reset/perform.ts';
import { describeReset, planReset, type ResetPlan } from '../../src/undo/reset/plan.ts';
import { type MemoryJournal, memoryJournal, runBench } from '../unit/pipeline/fake-steps.ts';
import { identity } from '../unit/pipeline/records.ts';
import { loaded } from './document.ts';
import { facts } from './facts.ts';
import type { MemoryHost } from './memory-host.ts';

/** What a killed process does from there on. */
const KILLED = new Error('killed');

/** Kills the process at an event: an entry of the journal, or a change of the machine. */
export class Killer {
  /** Events so far. */
  events = 0;
  /** The number of the event after which nothing happens any more. */
  readonly at: number;

  constructor(at?: number) {
    this.at = at ?? Number.POSITIVE_INFINITY;
  }

  journal(journal: MemoryJournal): MemoryJournal {
    return { ...journal, append: (record) => this.#event(() => journal.append(record)) };
  }

  host<Changed extends Host>(host: Changed): Changed {
    const event =
      <Args extends readonly unknown[], Result>(act: (...args: Args) => Promise<Result>) =>
      async (...args: Args): Promise<Result> =>
        await this.#event(() => act(...args));
    const { services } = host;
    return {
      ...host,
      writeFile: event((file) => host.writeFile(file)),
      writeLink: event((path, target) => host.writeLink(path, target)),
      linkFile: event((path, to) => host.linkFile(path, to)),
      removeFile: event((path) => host.removeFile(path)),
      removeDirectory: event((path) => host.removeDirectory(path)),
      makeDirectory: event((path, mode) => host.makeDirectory(path, mode)),
      chmod: event((path, mode) => host.chmod(path, mode)),
      chown: event((path, uid, gid) => host.chown(path, uid, gid)),
      writeKernelFile: event((path, value) => host.writeKernelFile(path, value)),
      run: event((command) => host.run(command)),
      services: {
        ...services,
        reload: event(() => services.reload()),
        start: event((name) => services.start(name)),
        stop: event((name) => services.stop(name)),
        restart: event((name) => services.restart(name)),
        reloadService: event((name) => services.reloadService(name)),
        enable: event((name) => services.enable(name)),
        disable: event((name) => services.disable(name)),
        mask: event((name) => services.mask(name)),
        unmask: event((name) => services.unmask(name)),
      },
    };
  }

  get isDead(): boolean {
    return this.events >= this.at;
  }

  #event<Result>(act: () => Result): Result {
    if (this.isDead) throw KILLED;
    this.events += 1;
    return act();
  }
}

/** The network of a domain that answers. */
const DIRECTORY: DirectoryNetwork = {
  controllers: async () => ['dc1.corp.example.com'],
  addressOf: async () => '10.0.0.1',
  closedPorts: async () => [],
  ownAddress: async () => '10.0.0.9',
  clock: async () => Date.now(),
};

/** The host part of a document, run on a machine in memory, with the journal that is left on its disk. */
export async function provisionHost(
  machine: Host,
  model: Model,
  journal: MemoryJournal,
  killer = new Killer(),
): Promise<void> {
  const bench = { ...runBench({ journal: killer.journal(journal) }), host: killer.host(machine) };
  const steps: readonly Step[] = PIPELINE.host
    .filter((step) => step.id !== 'clock')
    .map((step) => (step.id === 'active-directory' ? activeDirectoryStep(async () => DIRECTORY) : step) as Step);
  try {
    await runSteps(steps, { ...bench, model, facts: facts({ kubeadm: undefined, kubelet: undefined }) });
  } catch (error) {
    if (!killer.isDead) throw error;
  }
}

/** What a reset would do, by the journal as the next process reads it. */
export async function resetPlan(machine: Host, journal: MemoryJournal): Promise<ResetPlan> {
  const instance = { is: 'instance', identity: identity(), foreign: false, at: '' };
  const lines = [instance, ...journal.records].map((record) => JSON.stringify(record));
  const state = readJournal('journal', lines) ?? newJournalState(identity(), false);
  return await planReset(STEPS_BY_ID, machine, madeIn(state), { leaveFiles: false, osId: 'debian' });
}

/** What a reset says that it will do, and what it says while it does it. */
export async function resetHost(
  machine: Host,
  journal: MemoryJournal,
  killer = new Killer(),
): Promise<{ readonly planned: readonly string[]; readonly done: readonly string[] }> {
  const plan = await resetPlan(machine, journal);
  for (const record of resetRecords('reset', plan)) journal.append(record);
  const done: string[] = [];
  try {
    const signal = new AbortController().signal;
    await performReset(killer.host(machine), plan, { signal, line: (text) => done.push(text) });
  } catch (error) {
    if (!killer.isDead) throw error;
  }
  return { planned: describeReset(plan), done };
}

/** The model of the host part of a document, as YAML below `host:`. */
export async function hostDocument(yaml: string): Promise<Model> {
  const body = yaml.startsWith('host:') || yaml.includes('\nhost:') ? yaml : `host:\n${yaml.replace(/^/gm, '  ')}\n`;
  return (await loaded(body)).model;
}

/** The machine without what machineadm keeps for itself. */
export function treeOf(machine: MemoryHost): readonly string[] {
  return machine.snapshot().filter((line) => !/^\/(?:var\/lib|run)\/machineadm[/ ]/.test(line));
}

export function assertSameTree(machine: MemoryHost, before: readonly string[], when: string): void {
  const now = treeOf(machine);
  const more = now.filter((line) => !before.includes(line));
  const less = before.filter((line) => !now.includes(line));
  assert.deepEqual({ more, less }, { more: [], less: [] }, when);
}

export { memoryJournal };
