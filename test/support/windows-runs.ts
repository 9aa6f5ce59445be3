import assert from 'node:assert/strict';
import type { Model } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { afterRecord, newJournalState } from '../../src/pipeline/journal.ts';
import type { JournalRecord } from '../../src/pipeline/journal-record.ts';
import type { RunJournal } from '../../src/pipeline/run-journal.ts';
import { runSteps, StepFailure } from '../../src/pipeline/runner.ts';
import { stepRecord } from '../../src/pipeline/step-record.ts';
import type { Step } from '../../src/step/index.ts';
import { MachineKilled, type WindowsMachine } from './windows-machine.ts';

/** How one run ended: `done`, `killed`, or its reason; and the steps with what they changed. */
export interface WindowsRunEnd {
  readonly end: string;
  readonly error: MachineadmError | undefined;
  readonly story: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Runs of one Windows machine, one after another, with a journal that outlives reboots and loses of power, as `provision`
 * performs them: steps, records and loop guard are the real ones.
 */
export class WindowsRuns {
  readonly machine: WindowsMachine;
  readonly records: JournalRecord[] = [];
  readonly #steps: readonly Step[];
  readonly #model: Model;

  constructor(machine: WindowsMachine, steps: readonly Step[], model: Model) {
    this.machine = machine;
    this.#steps = steps;
    this.#model = model;
  }

  async run(): Promise<WindowsRunEnd> {
    const story: string[] = [];
    const warnings: string[] = [];
    const facts = await this.machine.facts();
    const journal = this.#journal(facts.machineId);
    journal.append({
      is: 'run',
      run: `run-${this.records.length}`,
      command: 'provision',
      agent: '0.0.0',
      document: 'digest',
      lasting: 'lasting',
      bootId: facts.bootId,
      at: '2026-01-01T00:00:00.000Z',
    });
    const ended = (end: string, error?: MachineadmError): WindowsRunEnd => ({ end, error, story, warnings });
    try {
      await runSteps(this.#steps, {
        model: this.#model,
        facts,
        host: this.machine.host(),
        journal,
        scope: 'all',
        signal: new AbortController().signal,
        mayReboot: this.#model.host.rebootPolicy === 'IfRequired',
        observer: {
          stepStarted: () => {},
          stepDone: (step, { state, changes }) => story.push(`${step} ${state} [${changes.join(' ')}]`),
          waitingFor: () => {},
          output: () => {},
          warn: (message) => warnings.push(message),
        },
      });
    } catch (thrown) {
      if (!(thrown instanceof StepFailure)) throw thrown;
      if (thrown.error instanceof MachineKilled) return ended('killed');
      if (!(thrown.error instanceof MachineadmError)) throw thrown.error;
      return ended(thrown.error.reason, thrown.error);
    }
    return ended('done');
  }

  /**
   * Runs, with the reboots that the runs ask for and that a loss of power is, until it is done or fails.
   *
   * @param effect the machine loses its power before this effect, once; a reboot forgets a kill point, so it is set again
   */
  async runToTheEnd(effect?: number): Promise<{ readonly last: WindowsRunEnd; readonly ends: readonly string[] }> {
    const ends: string[] = [];
    for (;;) {
      if (effect !== undefined && !ends.includes('killed')) this.machine.killAt({ effect });
      const last = await this.run();
      ends.push(last.end);
      if (last.end !== 'Rebooting' && last.end !== 'killed') return { last, ends };
      assert.ok(ends.length < 10, `it never ends: ${ends.join(', ')}`);
      this.machine.reboot();
    }
  }

  #journal(machineId: string): RunJournal {
    const identity = { uid: undefined, cloudInstanceId: undefined, machineId };
    let state = this.records.reduce(afterRecord, newJournalState(identity, false));
    return {
      state: () => state,
      record: (step) => stepRecord(state, step),
      owed: () => state.owed,
      append: (record) => {
        this.records.push(record);
        state = afterRecord(state, record);
      },
      write() {},
      flush() {},
      close() {},
    };
  }
}
