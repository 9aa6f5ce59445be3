import { dirname } from 'node:path/posix';
import type { NetworkModel } from '@machineadm/document/model/index.ts';
import { NETWORK_DIRECTORIES, NETWORK_TRIAL } from '@machineadm/document/ownership/paths.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { partsOf } from '../../host/seam/resource.ts';
import { readCopy } from '../../prior-state/copies.ts';
import type { ResetAction } from '../../step/reset-action.ts';
import type { RestoredResource, RestoredTogether } from '../../step/restoring.ts';
import { TOOLS } from './tools.ts';
import { confirm, readTrial, tryOut, type WantedFile } from './trial.ts';

const DIRECTORIES: readonly string[] = Object.values(NETWORK_DIRECTORIES);

/** Its files are restored together, as a run changes them together. */
export const networkTogether: RestoredTogether = {
  includes(resource) {
    const { kind, name } = partsOf(resource);
    return kind === 'path' && DIRECTORIES.includes(dirname(name));
  },
  plan: (host, restored, memory) => undoNetwork(host, restored, memory.note('network', 'network/files')),
};

/** Where the journal does not say how long the document gives the network. */
const KEEP_TIMEOUT_MS = 60_000;

/**
 * Restores the files of the network, and has their tool apply them as a run does: if the network is lost with them, those that
 * machineadm wrote come back, and the reset fails at that. Without the tool the files alone are restored.
 *
 * @param note of the change that wrote them
 */
async function undoNetwork(
  host: QueryHost,
  records: readonly RestoredResource[],
  note: unknown,
): Promise<readonly ResetAction[]> {
  const isPending = (await readTrial(host)) !== undefined;
  const all: ResetAction[] = [];
  let isApplied = false;
  for (const [tool, directory] of Object.entries(NETWORK_DIRECTORIES) as [NetworkModel['tool'], string][]) {
    const own = records.filter(({ resource }) => dirname(partsOf(resource).name) === directory);
    const actions = own.flatMap((record) => record.actions);
    const todo = actions.filter(({ perform }) => perform !== undefined);
    if (own.length === 0 || (todo.length === 0 && !isPending) || !(await runs(host, tool))) {
      all.push(...actions);
      continue;
    }
    isApplied = true;
    const parts = todo.flatMap(({ summary }) => summary ?? []);
    if (isPending) parts.unshift('finish an interrupted change');
    // A trial that was not confirmed begins again with the previous files.
    const change = own.filter((record) =>
      isPending ? record.actions.every(({ perform }) => perform) : record.actions.some(({ perform }) => perform),
    );
    all.push(...actions.filter(({ perform }) => perform === undefined), {
      summary: `${TOOLS[tool].title}: ${parts.join(', ')}; undone if the network is lost`,
      ...(todo[0]?.resource && { resource: todo[0].resource }),
      perform: (changing, signal) => apply(changing, tool, change, note, signal),
    });
    for (const { resource, was } of change) {
      if (was !== null || !resource.endsWith('.netdev')) continue;
      const { name } = partsOf(resource);
      all.push({ summary: `leave the device of ${name} until the next boot: systemd-networkd removes none` });
    }
  }
  if (isPending && !isApplied) all.push({ perform: (changing) => changing.removeFile(NETWORK_TRIAL) });
  return all;
}

/** Whether a tool is there to apply its files. */
async function runs(host: QueryHost, tool: NetworkModel['tool']): Promise<boolean> {
  const { program, service } = TOOLS[tool];
  if ((await host.which(program)) === undefined) return false;
  return service === undefined || (await host.service(service)).active;
}

async function apply(
  host: Host,
  tool: NetworkModel['tool'],
  records: readonly RestoredResource[],
  note: unknown,
  signal: AbortSignal,
): Promise<void> {
  const write: WantedFile[] = [];
  const remove: string[] = [];
  for (const { resource, was } of records) {
    const { name: path } = partsOf(resource);
    if (was === null) remove.push(path);
    if (was?.is !== 'file') continue;
    const content = await readCopy(host, was.fingerprint);
    if (content !== undefined)
      write.push({ path, content: Buffer.from(content).toString('utf8'), mode: was.mode, gid: was.gid });
  }
  const timeoutMs = member(member(note, 'keep'), 'timeoutMs');
  const keep = {
    endpoint: text(member(member(note, 'keep'), 'endpoint')),
    timeoutMs: typeof timeoutMs === 'number' ? timeoutMs : KEEP_TIMEOUT_MS,
  };
  await tryOut(host, { desired: { tool, files: [], keep }, write, remove }, { signal, waitingFor: () => {} });
  await confirm(host);
}
