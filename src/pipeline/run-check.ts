import type { LoadedDocument } from '@machineadm/document/loading/load.ts';
import type { RunEvent } from '@machineadm/status/status.ts';
import type { NetworkSettings } from '../host/index.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { Host } from '../host/seam/host.ts';
import { abortable } from '../host/time/timeout.ts';
import { documentIdOf, findConflicts, journalFor } from './asked.ts';
import { sourcesOf } from './change-source.ts';
import { imagePart } from './image.ts';
import { instanceIdentity, type JournalState, type PreparedNote, withNotes } from './journal.ts';
import { openDocument } from './load.ts';
import { stepsFor } from './pipeline.ts';
import { preflight } from './preflight.ts';
import { readPrepared, usableNotes } from './prepared.ts';
import type { Started } from './reboot-resume.ts';
import { journalForInstance } from './run-journal.ts';
import { stepRecord } from './step-record.ts';
import { refuseIfChanged, type UpgradeVersions, upgradeAsked, withUpgrade } from './upgrade.ts';

export interface RunRequest extends Started {
  readonly agentVersion: string;
  /** Aborted by a signal to the process, with a `MachineadmError` as its reason. */
  readonly signal: AbortSignal;
  /** Called for each event as it happens. */
  readonly onEvent?: (event: RunEvent) => void;
  /**
   * The same, except for events that the journal gets anyway where this process prints to it: the progress on stderr.
   */
  readonly onShown?: (event: RunEvent) => void;
  /** A line of a child's output, redacted. */
  readonly onOutput: (source: string, line: string) => void;
}

/** Which changes a command makes. */
export function scopeOf({ command }: Pick<RunRequest, 'command'>): 'base' | 'all' {
  return command === 'prepare' ? 'base' : 'all';
}

/** What is known before any change. */
export type CheckedRun =
  | {
      readonly ok: true;
      readonly document: LoadedDocument;
      readonly known: JournalState;
      readonly network: NetworkSettings;
      /** The notes of this machine's image. */
      readonly notes: readonly PreparedNote[];
      /** Of an upgrade: what it is from and to; undefined: the node has the version of the document. */
      readonly upgrade: UpgradeVersions | undefined;
      /** Of the preflight: they refuse nothing. */
      readonly warnings: readonly string[];
    }
  | {
      readonly ok: false;
      readonly document: LoadedDocument | undefined;
      readonly known: JournalState;
      readonly network: NetworkSettings | undefined;
      readonly error: unknown;
    };

/** Loads the document and makes all checks that can refuse the run, with queries only. */
export async function checkRun(
  request: RunRequest,
  host: Host,
  facts: Facts,
  before: JournalState | undefined,
): Promise<CheckedRun> {
  let known = journalForInstance(before, instanceIdentity(facts, undefined));
  let document: LoadedDocument | undefined;
  let network: NetworkSettings | undefined;
  try {
    document = await abortable(openRequested(request), request.signal);
    network = document.model.host;
    const identity = instanceIdentity(facts, document.model.metadata.uid);
    const notes = usableNotes(await readPrepared(host), before, identity);
    known = withNotes(journalForInstance(before, identity), notes);
    if (request.command === 'prepare') document = { ...document, ...imagePart(document) };
    const { upgrade: options } = request;
    const upgrade = options === undefined ? undefined : await upgradeAsked(host, known, document, true);
    if (upgrade === undefined) await refuseIfChanged(host, known, document);
    const scope = scopeOf(request);
    const id = documentIdOf(request, document);
    const [loaded, agent] = [document, request.agentVersion];
    const begun = options === undefined ? known : withUpgrade(known, upgrade, options);
    const seen = await journalFor(host, begun, id, loaded, agent);
    const found = await abortable(
      preflight(stepsFor(scope, document.model.host.platform), {
        host,
        model: document.model,
        facts,
        scope,
        record: (step) => stepRecord(seen, step, id),
        source: sourcesOf(document),
        conflicts: () => findConflicts(host, loaded, agent, seen, id),
      }),
      request.signal,
    );
    // Checks that could not be made are only reported by commands that check before a run.
    const warnings = found.told.flatMap(({ missing: { severity, what, remedy } }) =>
      severity === 'warning' ? [`${what}. ${remedy}`] : [],
    );
    return { ok: true, document, known, network, notes, upgrade, warnings };
  } catch (error) {
    return { ok: false, document, known, network, error };
  }
}

/** An image is the same for all machines: this machine's variables must not be resolved. */
async function openRequested({ command, sources, agentVersion, sinks }: RunRequest): Promise<LoadedDocument> {
  return await openDocument(sources, agentVersion, {
    forThisMachine: command !== 'prepare',
    distrust: 'refuse',
    ...(sinks === undefined ? {} : { sinks }),
  });
}
