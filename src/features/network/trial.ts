import { setTimeout as pause } from 'node:timers/promises';
import type { NetworkModel } from '@machineadm/document/model/index.ts';
import { type Evidence, errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { NETWORK_TRIAL } from '@machineadm/document/ownership/paths.ts';
import { formatDuration } from '@machineadm/document/text/units.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import { checksummedJson, withChecksum } from '../../host/files/checksum.ts';
import { type KeptFile, keepFiles, parseKeptFiles, restoreFiles } from '../../host/files/kept-files.ts';
import { defaultInterfaces } from '../../host/linux/node-addresses.ts';
import { probeTcp } from '../../host/network/reachability.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { readSealedText, writeSealed } from '../../host/secrets/sealed-files.ts';
import type { Execution } from '../../step/index.ts';
import { type Complaints, type NetworkFile, TOOLS } from './tools.ts';

const ASKED_EVERY_MS = 1_000;
const PROBE_TIMEOUT_MS = 3_000;
/** An old route or lease is still there for a moment after its configuration is gone. */
const STEADY_TIMES = 4;

type Waiting = Pick<Execution, 'signal' | 'waitingFor'>;

export interface WantedFile extends NetworkFile {
  readonly mode: number;
  readonly gid: number;
}

export interface NetworkChange {
  readonly desired: NetworkModel;
  readonly write: readonly WantedFile[];
  readonly remove: readonly string[];
}

/** How the network was before a change that is not confirmed yet. */
export interface Trial {
  readonly tool: NetworkModel['tool'];
  readonly files: readonly KeptFile[];
  readonly hadDefaultRoute: boolean;
}

/**
 * Applies files as `netplan try` does: they stay if the network works with them; otherwise the previous ones are restored. The
 * previous files are on disk until then, so that a run after a killed one begins with them again.
 */
export async function tryOut(host: Host, change: NetworkChange, execution: Waiting): Promise<void> {
  const { desired, write, remove } = change;
  const tool = TOOLS[desired.tool];
  const earlier = await readTrial(host);
  if (earlier !== undefined) await restore(host, earlier);
  const trial = await beginTrial(host, change, earlier);
  try {
    for (const file of write) await host.writeFile({ ...file, directoryMode: 0o755 });
    for (const path of remove) await host.removeFile(path);
    const failures = await tool.apply(host, write, execution.signal);
    if (failures.length > 0) throw notApplied(tool.title, failures);
    const lost = await whatIsLost(host, desired, trial.hadDefaultRoute, execution);
    if (lost !== undefined) throw networkLost(desired, lost);
  } catch (error) {
    execution.waitingFor('the previous network');
    throw withEvidence(error, await endTrial(host, trial, write));
  }
}

/** Keeps the files of a change. Called when everything that must be known of it is durable. */
export async function confirm(host: Host): Promise<void> {
  await host.sync('/etc');
  await host.removeFile(NETWORK_TRIAL);
  await host.sync(NETWORK_TRIAL);
}

async function beginTrial(host: Host, { desired, write, remove }: NetworkChange, earlier?: Trial): Promise<Trial> {
  const paths = [...write.map(({ path }) => path), ...remove, ...(earlier?.files ?? []).map(({ path }) => path)];
  const files = await keepFiles(host, paths);
  const hadDefaultRoute = earlier?.hadDefaultRoute ?? (await defaultInterfaces(host)).length > 0;
  const trial: Trial = { tool: desired.tool, files, hadDefaultRoute };
  await writeSealed(host, NETWORK_TRIAL, withChecksum(JSON.stringify(trial)));
  await host.sync(NETWORK_TRIAL);
  return trial;
}

/** Puts the network back, and says what failed meanwhile. The signal of the run may have ended it: this is done all the same. */
async function endTrial(host: Host, trial: Trial, written: readonly NetworkFile[]): Promise<Complaints> {
  try {
    await restore(host, trial);
    const before = trial.files.flatMap(({ path, content }) =>
      content !== undefined && written.some((file) => file.path === path) ? [{ path, content }] : [],
    );
    const failures = await TOOLS[trial.tool].apply(host, before);
    if (failures.length === 0) await confirm(host);
    return failures;
  } catch (error) {
    return [{ source: NETWORK_TRIAL, text: errorMessage(error) }];
  }
}

async function restore(host: Host, { files }: Trial): Promise<void> {
  await restoreFiles(host, files);
  await host.sync('/etc');
}

/** The trial that a killed run left, or undefined if no run was killed during one. Throws `HostStepFailed` where it cannot be read. */
export async function readTrial(host: QueryHost): Promise<Trial | undefined> {
  const source = await readSealedText(host, NETWORK_TRIAL);
  if (source === undefined) return undefined;
  const value = checksummedJson(source);
  const [tool, files, hadDefaultRoute] = [
    text(member(value, 'tool')),
    parseKeptFiles(member(value, 'files')),
    member(value, 'hadDefaultRoute'),
  ];
  if (!isTool(tool) || files === undefined || typeof hadDefaultRoute !== 'boolean') throw unreadable();
  return { tool, hadDefaultRoute, files };
}

function isTool(tool: string | undefined): tool is NetworkModel['tool'] {
  return tool !== undefined && Object.hasOwn(TOOLS, tool);
}

/** Waits until everything that must be there was there several times in a row; says what is not there in time. */
async function whatIsLost(
  host: QueryHost,
  { keep }: NetworkModel,
  hadDefaultRoute: boolean,
  { signal, waitingFor }: Waiting,
): Promise<string | undefined> {
  const deadline = performance.now() + keep.timeoutMs;
  waitingFor(`the network${keep.endpoint === undefined ? '' : ` and ${keep.endpoint}`}`);
  for (let steady = 0; ; ) {
    signal.throwIfAborted();
    const lost = await missing(host, keep.endpoint, hadDefaultRoute);
    steady = lost === undefined ? steady + 1 : 0;
    if (steady === STEADY_TIMES) break;
    if (performance.now() >= deadline) {
      if (lost !== undefined) return lost;
      break;
    }
    await pause(ASKED_EVERY_MS, undefined, { signal });
  }
  waitingFor(undefined);
  return undefined;
}

async function missing(
  host: QueryHost,
  endpoint: string | undefined,
  hadDefaultRoute: boolean,
): Promise<string | undefined> {
  if (hadDefaultRoute && (await defaultInterfaces(host)).length === 0) return 'there is no default route';
  if (endpoint === undefined) return undefined;
  const colon = endpoint.lastIndexOf(':');
  const address = endpoint.slice(0, colon).replace(/^\[|\]$/g, '');
  const failure = await probeTcp(address, Number(endpoint.slice(colon + 1)), PROBE_TIMEOUT_MS);
  return failure === undefined ? undefined : `${endpoint} does not accept connections (${failure})`;
}

function notApplied(title: string, evidence: Complaints): MachineadmError {
  return new MachineadmError({
    reason: 'NetworkNotApplied',
    summary: `${title} could not apply the files of host.network`,
    remedy: `Correct host.network.files, or repair ${title}, then run again.`,
    evidence,
  });
}

function networkLost({ keep }: NetworkModel, lost: string): MachineadmError {
  return new MachineadmError({
    reason: 'NetworkLost',
    summary: `the network was lost with the files of host.network: ${lost} after ${formatDuration(keep.timeoutMs)}`,
    remedy:
      'Correct host.network.files. If the network only needs more time, as with a slow DHCP server, raise host.network.keep.timeout.',
    evidence: [{ source: 'host.network.keep', text: lost }],
  });
}

/** The same error, which also says whether the previous network is restored. */
function withEvidence(error: unknown, failures: readonly Evidence[]): unknown {
  if (!(error instanceof MachineadmError)) return error;
  const { reason, remedy, retryable, exit, transcript } = error;
  const isBack = failures.length === 0;
  return new MachineadmError({
    reason,
    summary: `${error.message}; ${isBack ? 'the previous files were restored' : 'restoring the previous files failed, too'}`,
    remedy: isBack
      ? remedy
      : `${remedy} The previous files are kept in ${NETWORK_TRIAL}: the next run restores them first.`,
    evidence: [...error.evidence, ...failures],
    retryable,
    exit,
    transcript,
    cause: error,
  });
}

function unreadable(): MachineadmError {
  return new MachineadmError({
    reason: 'HostStepFailed',
    summary: `${NETWORK_TRIAL}, which has the network files from before a change, is damaged`,
    remedy: 'Make sure that the network files are correct, remove this file, and run machineadm provision again.',
  });
}
