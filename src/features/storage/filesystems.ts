import { randomUUID } from 'node:crypto';
import type { DiskModel, FilesystemModel } from '@machineadm/document/model/index.ts';
import { evidenceFrom, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { textLines } from '@machineadm/document/text/printable.ts';
import { type BlockDevice, describeDevice, findDevice } from '../../block-devices/device.ts';
import { type Contents, describeContents, readContents } from '../../block-devices/signatures.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Change, Execution, UnmetRequirement } from '../../step/index.ts';
import { decideFilesystem, type FilesystemDecision, type FilesystemFinding } from './decisions.ts';
import {
  describeGrowth,
  type FilesystemGrowth,
  filesystemGrowth,
  growFilesystem,
  growthFailed,
  growthRemark,
  growthSummary,
  growthTools,
  inspectGrowth,
} from './growth.ts';
import { mkfsArguments, mkfsProgram, newFilesystemId, relabelCommand, wantedWords } from './mkfs.ts';
import { growsBefore, willBePartitioned } from './pending.ts';
import { missingTools } from './tools.ts';
import { deviceBusy, isBusyError, usersOf } from './usage.ts';
import { absentDevice, settleDevices, waitForDevice } from './wait.ts';

export interface FilesystemsDesired {
  readonly filesystems: readonly FilesystemModel[];
  /** Disks that an earlier step partitions. */
  readonly disks: readonly DiskModel[];
}

/** The journal's note of a file system's identity. */
export interface FormatNote {
  /** As blkid(8) prints it, in lower case. */
  readonly uuid: string;
  /** False while mkfs runs. */
  readonly made: boolean;
}

interface FilesystemState {
  readonly device: BlockDevice;
  readonly contents: Contents;
  readonly users: readonly string[];
  /** Of one that is kept. */
  readonly growth?: FilesystemGrowth | undefined;
}

export interface FilesystemsActual {
  readonly filesystems: readonly {
    /** undefined: not there (yet). */
    readonly state: FilesystemState | undefined;
    readonly note: FormatNote | undefined;
    /** True where it grows with its partition, which an earlier step grows. */
    readonly growsLater: boolean;
  }[];
}

export interface FilesystemPayload {
  readonly filesystem: FilesystemModel;
  readonly place: string;
  readonly note: FormatNote | undefined;
  /** What is there is kept, and made larger. */
  readonly grows?: true;
}

/**
 * File systems and swap areas. A device with any signature is never formatted unless the document says `overwrite` or
 * names its type in `replace` (`decisions.ts`). `apply` looks again right before it formats.
 *
 * The remains of a killed mkfs are distinguished from user data by their UUID, which is chosen and journalled before mkfs starts.
 */
export const filesystems: FeatureStep<FilesystemsDesired, FilesystemsActual, FilesystemPayload> = {
  id: 'filesystems',
  section: 'host.storage.filesystems',
  stays: ({ host }, { acted }) =>
    acted !== undefined && host.storage.filesystems.length === 0
      ? [['filesystems', 'file systems stay: no run deletes data']]
      : [],
  isRequested: STAYS,
  leaves: 'the file systems, with all that is in them and the sizes that they have now: a reset never wipes a disk',
  desired({ host }) {
    const { filesystems, disks } = host.storage;
    return filesystems.length === 0 ? undefined : { filesystems, disks };
  },

  async preflight(host, desired, record) {
    const makers = desired.filesystems.map(({ type }) => mkfsProgram(type));
    const growers = desired.filesystems.flatMap(growthTools);
    const missing: UnmetRequirement[] = [
      ...(await missingTools(host, ['wipefs', 'blkid', 'lsblk', ...makers, ...growers])),
    ];
    if (missing.length > 0) return missing;
    for (const [index, filesystem] of desired.filesystems.entries()) {
      if (await willBePartitioned(host, desired.disks, filesystem.device)) continue;
      const [place, change] = [placeOf(index), changeId(filesystem)];
      const device = await findDevice(host, filesystem.device);
      if (device === undefined) {
        missing.push(absentDevice(filesystem.device, `${place}.device`, change));
        continue;
      }
      const note = noteOf(record?.notes.get(change));
      const refusal = refusalOf(filesystem, await inspectDevice(host, device), note, place);
      if (refusal === undefined) continue;
      const { reason, message: what, remedy, evidence } = refusal;
      missing.push({ reason, what, remedy, evidence, field: place, change, scope: 'node' });
    }
    return missing;
  },

  async inspect(host, desired, record) {
    const actual: FilesystemsActual['filesystems'][number][] = [];
    for (const filesystem of desired.filesystems) {
      const pending = await willBePartitioned(host, desired.disks, filesystem.device);
      const device = pending ? undefined : await findDevice(host, filesystem.device);
      const note = noteOf(record.notes.get(changeId(filesystem)));
      const state = device === undefined ? undefined : await inspectDevice(host, device);
      const isKept = state !== undefined && decisionOf(filesystem, state, note) === 'reuse';
      actual.push({
        state: isKept ? { ...state, growth: await inspectGrowth(host, filesystem.type, state.device) } : state,
        note,
        growsLater: isKept && filesystem.grow === true && (await growsBefore(host, desired.disks, state.device)),
      });
    }
    return { filesystems: actual };
  },

  remarks: ({ filesystems }, _record, actual) =>
    filesystems.flatMap((filesystem, index) => {
      const growth = actual.filesystems[index]?.state?.growth;
      if (growth === undefined || filesystemGrowth(filesystem, growth) !== 'report') return [];
      return [`${describeDevice(filesystem.device)} ${growthRemark(growth, placeOf(index))}`];
    }),

  plan(desired, actual) {
    const changes: Change<FilesystemPayload>[] = [];
    desired.filesystems.forEach((filesystem, index) => {
      const { state, note, growsLater } = actual.filesystems[index] ?? { growsLater: false };
      const decision = filesystemGrowth(filesystem, state?.growth);
      if (growsLater || decision === 'grow' || decision === 'refuse GrowthFailed') {
        changes.push({
          id: `${changeId(filesystem)}/grow`,
          action: 'change',
          summary: `${describeDevice(filesystem.device)}: ${growthSummary(filesystem, state?.growth, growsLater)}`,
          scope: 'node',
          ...(growsLater ? { knownAfter: 'disks' as const } : {}),
          ineffective: 'GrowthFailed',
          payload: { filesystem, place: placeOf(index), note, grows: true },
        });
        return;
      }
      const summary = state === undefined ? `make ${wantedWords(filesystem)}` : summaryOf(filesystem, state, note);
      if (summary === undefined) return;
      changes.push({
        id: changeId(filesystem),
        action: 'add',
        summary: `${describeDevice(filesystem.device)}: ${summary}`,
        scope: 'node',
        repeatable: false,
        ...(state === undefined && desired.disks.length > 0 ? { knownAfter: 'disks' as const } : {}),
        ineffective: 'FilesystemNotMade',
        payload: { filesystem, place: placeOf(index), note },
      });
    });
    return changes;
  },

  async apply(host, change, execution) {
    const { filesystem, place, note, grows } = change.payload;
    const device = await waitForDevice(host, filesystem.device, `${place}.device`, execution);
    const state = await inspectDevice(host, device);
    const refusal = refusalOf(filesystem, state, note, place);
    if (refusal !== undefined) throw refusal;
    if (grows === true) {
      const growth = await inspectGrowth(host, filesystem.type, device);
      if (growth?.finding === 'larger than its device')
        throw growthFailed(device.path, place, `its device became smaller (${describeGrowth(growth)})`);
      return await growFilesystem(host, filesystem, device, place, execution);
    }
    if (decisionOf(filesystem, state, note) === 'format') await format(host, filesystem, state, place, execution);
  },
};

function changeId({ device }: FilesystemModel): string {
  return `filesystems/${describeDevice(device)}`;
}

function placeOf(index: number): string {
  return `host.storage.filesystems[${index}]`;
}

async function inspectDevice(host: QueryHost, device: BlockDevice): Promise<FilesystemState> {
  return {
    device,
    contents: await readContents(host, device.path),
    users: await usersOf(host, device.path),
  };
}

/** The contents of a device, compared with the document. */
function findingOf(filesystem: FilesystemModel, contents: Contents, note: FormatNote | undefined): FilesystemFinding {
  const { signatures, type, label, uuid } = contents;
  if (signatures.length === 0) return 'blank';
  if (note !== undefined && uuid?.toLowerCase() === note.uuid && !note.made) return 'interrupted mkfs';
  // Two signatures: which of them holds the data is not ours to guess.
  if (type !== filesystem.type || signatures.length > 1) return 'other signature';
  if (filesystem.label !== undefined && label !== filesystem.label) return 'same type, other label';
  return 'same type and label';
}

function decisionOf(
  filesystem: FilesystemModel,
  { contents, users }: FilesystemState,
  note: FormatNote | undefined,
): FilesystemDecision {
  const replaceable =
    contents.signatures.length > 0 && contents.signatures.every((s) => filesystem.replace.includes(s));
  const spent = note?.made === true && note.uuid === contents.uuid?.toLowerCase();
  const overwrite = filesystem.overwrite && !spent;
  return decideFilesystem(findingOf(filesystem, contents, note), overwrite, replaceable && !spent, users.length > 0);
}

function summaryOf(
  filesystem: FilesystemModel,
  state: FilesystemState,
  note: FormatNote | undefined,
): string | undefined {
  const there = describeContents(state.contents);
  switch (decisionOf(filesystem, state, note)) {
    case 'reuse':
      return undefined;
    case 'format':
      if (findingOf(filesystem, state.contents, note) === 'interrupted mkfs') {
        return `make ${wantedWords(filesystem)} again: an earlier run was killed during it`;
      }
      return `${there === 'nothing' ? '' : `destroy ${there}, `}make ${wantedWords(filesystem)}`;
    case 'refuse FilesystemDiffers':
      return `holds ${there}, and the document does not permit to format it`;
    case 'refuse DeviceBusy':
      return `is in use: ${state.users.join('; ')}`;
  }
}

function refusalOf(
  filesystem: FilesystemModel,
  state: FilesystemState,
  note: FormatNote | undefined,
  place: string,
): MachineadmError | undefined {
  const { device, contents, users } = state;
  const decision = decisionOf(filesystem, state, note);
  if (decision === 'refuse DeviceBusy') return deviceBusy(device.path, place, users);
  if (decision !== 'refuse FilesystemDiffers') return undefined;
  const there = describeContents(contents);
  const relabel =
    findingOf(filesystem, contents, note) === 'same type, other label'
      ? `To keep it, set ${place}.label to "${contents.label ?? ''}" or relabel the device (${relabelCommand(filesystem, device.path)}). `
      : `Name the right device. `;
  return new MachineadmError({
    reason: 'FilesystemDiffers',
    summary: `${device.path} (${place}) holds ${there}, not ${wantedWords(filesystem)}. Nothing on it was changed.`,
    remedy: `${relabel}If its contents may be destroyed, set ${place}.overwrite to true, or ${place}.replace to [${contents.signatures.join(', ')}].`,
    evidence: [{ source: device.path, text: `${there}; signatures: ${contents.signatures.join(', ')}` }],
  });
}

async function format(
  host: Host,
  filesystem: FilesystemModel,
  { device, contents }: FilesystemState,
  place: string,
  execution: Execution,
): Promise<void> {
  const program = mkfsProgram(filesystem.type);
  const uuid = newFilesystemId(filesystem, randomUUID());
  // All earlier contents are wiped first: mkfs then needs no force, and a kill leaves an empty device instead of a
  // mixture.
  if (contents.signatures.length > 0) {
    await write(host, { program: 'wipefs', args: ['--all', device.path] }, device, place, execution);
  }
  if (uuid !== undefined) execution.remember({ uuid, made: false } satisfies FormatNote);
  execution.waitingFor(`${program} on ${device.path}`);
  const args = mkfsArguments(filesystem, uuid, device.path);
  await write(host, { program, args }, device, place, execution);
  execution.waitingFor(undefined);
  const made = uuid ?? (await readContents(host, device.path)).uuid?.toLowerCase();
  if (made !== undefined) execution.remember({ uuid: made, made: true } satisfies FormatNote);
  await settleDevices(host);
}

async function write(
  host: Host,
  command: { readonly program: string; readonly args: readonly string[] },
  device: BlockDevice,
  place: string,
  execution: Execution,
): Promise<void> {
  const { program } = command;
  const onLine = (_stream: string, line: string): void => execution.output(program, line);
  const result = await host.run({ ...command, onLine, signal: execution.signal, supervised: true });
  if (result.status === 0) return;
  const said = textLines(result.stderr, result.stdout);
  if (isBusyError(said.join('\n'))) throw deviceBusy(device.path, place, [said[0]?.trim() ?? program]);
  throw new MachineadmError({
    reason: 'FilesystemNotMade',
    summary: `${program} failed on ${device.path} (${place}) with status ${result.status}.`,
    remedy: 'Read its message below; check the options of the file system, the size of the device, and the kernel log.',
    evidence: evidenceFrom(program, said.slice(0, 5)),
    retryable: true,
  });
}

function noteOf(note: unknown): FormatNote | undefined {
  if (typeof note !== 'object' || note === null || !('uuid' in note) || !('made' in note)) return undefined;
  return typeof note.uuid === 'string' && typeof note.made === 'boolean'
    ? { uuid: note.uuid, made: note.made }
    : undefined;
}
