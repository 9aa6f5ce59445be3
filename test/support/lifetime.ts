import type { Host } from '../../src/host/seam/host.ts';
import type { JournalRecord } from '../../src/pipeline/journal-record.ts';
import { ALL_STEPS } from '../../src/pipeline/pipeline.ts';
import { type PlannedChange, planSteps } from '../../src/pipeline/plan.ts';
import { runSteps } from '../../src/pipeline/runner.ts';
import { memoryJournal, runBench } from '../unit/pipeline/fake-steps.ts';
import { begun } from '../unit/pipeline/records.ts';
import { loaded } from './document.ts';
import { facts } from './facts.ts';

const OF_PATHS = [
  'apparmor',
  'certificate-authorities',
  'removals',
  'directories',
  'files',
  'archives',
  'links',
  'services',
  'restarts',
  'sysctl',
];
const STEPS = ALL_STEPS.filter(({ id }) => OF_PATHS.includes(id));

/** A machine on which one document after another is applied, with the journal that goes on from run to run. */
export function lifetime(host: Host, sources: readonly string[] = ['/etc/machineadm/node.yaml']) {
  const journal = memoryJournal();
  let runs = 0;
  const begin = (from: readonly string[] = sources): void => {
    runs += 1;
    const run: JournalRecord = { ...begun(`run-${runs}`), written: `digest-${runs}`, sources: from };
    journal.append(run);
  };
  return {
    journal,
    /** The changes of a run, as the journal and the observer get them; throws what the run fails with. */
    async run(body: string, from?: readonly string[]): Promise<readonly string[]> {
      const { model } = await loaded(body);
      begin(from);
      const bench = { ...runBench({ journal }), host, model };
      await runSteps(STEPS, bench);
      return bench.story.filter((line) => line.includes(' [') || line.startsWith('warning'));
    },
    async plan(body: string, from: readonly string[] = sources): Promise<readonly PlannedChange[]> {
      const { model } = await loaded(body);
      const id = { command: 'provision', sources: from } as const;
      const asked = { model, facts: facts(), host, journal: journal.state(), scope: 'all' as const, id };
      return (await planSteps(STEPS, asked)).changes;
    },
  };
}

/** The summaries of a plan. */
export function summaries(changes: readonly PlannedChange[]): readonly string[] {
  return changes.map(({ summary }) => summary);
}
