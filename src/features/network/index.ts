import { basename } from 'node:path/posix';
import type { NetworkModel } from '@machineadm/document/model/index.ts';
import { member } from '@machineadm/document/values/untyped.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { textDiff } from '../../owned-files/text-diff.ts';
import type { FeatureStep, Prunable } from '../../step/feature-step.ts';
import type { StepRecord, UnmetRequirement } from '../../step/index.ts';
import { TOOLS } from './tools.ts';
import { confirm, type NetworkChange, readTrial, tryOut, type WantedFile } from './trial.ts';
import { networkTogether } from './undo.ts';

const CHANGE = 'network/files';
/** systemd.netdev(5) holds keys, and networkd, which is not root, must read them. */
const NETDEV_GROUP = 'systemd-network';

export interface NetworkActual {
  /** The files of the document with the owner and mode that they are to have, and those that are as they should be. */
  readonly wanted: readonly WantedFile[];
  readonly inOrder: ReadonlySet<string>;
  /** What the other files are now. */
  readonly texts: ReadonlyMap<string, string>;
  /** Files of an earlier document that are still there. */
  readonly dropped: readonly string[];
  /** A run was killed before it knew whether the network is there with the new files. */
  readonly unconfirmed: boolean;
}

/**
 * Files of the network, and what their tool makes of them. The network belongs to the instance (`node`): an image has that
 * of its first boot.
 */
export const network: FeatureStep<Prunable<NetworkModel>, NetworkActual, NetworkChange> = {
  id: 'network',
  restoring: { together: networkTogether },
  section: 'host.network',
  isRequested: ({ host }) => host.network !== undefined,

  desired: ({ host }) => host.network && { ...host.network, prune: host.prune },

  async preflight(host, { tool, files }) {
    const { program, title, service, preflight } = TOOLS[tool];
    const missing = (what: string, remedy: string): readonly UnmetRequirement[] => [
      { reason: 'NetworkToolMissing', what, remedy, field: 'host.network.tool', scope: 'node' },
    ];
    if ((await host.which(program)) === undefined) {
      return missing(
        `${title} is not installed: there is no ${program}`,
        `Install ${title} in the image, or name another tool.`,
      );
    }
    if (service !== undefined && !(await host.service(service)).active) {
      return missing(`${service} does not run`, `Enable and start it in the image: systemctl enable --now ${service}`);
    }
    return (await preflight?.(host, files)) ?? [];
  },

  async inspect(host, { files, tool, prune }, record) {
    const wanted: WantedFile[] = [];
    const inOrder = new Set<string>();
    const texts = new Map<string, string>();
    for (const { path, content } of files) {
      const file = { path, content, ...(await ownerOf(host, tool, path)) };
      wanted.push(file);
      const [text, stat] = [await host.readText(path), await host.stat(path)];
      if (text !== undefined) texts.set(path, text);
      const isRight = text === content && stat?.mode === file.mode && stat.uid === 0 && stat.gid === file.gid;
      if (isRight && stat.type === 'file') inOrder.add(path);
    }
    const dropped: string[] = [];
    for (const path of prune === 'Never' ? [] : pathsOfEarlier(record)) {
      if (!files.some((file) => file.path === path) && (await host.stat(path)) !== undefined) dropped.push(path);
    }
    return { wanted, inOrder, texts, dropped, unconfirmed: (await readTrial(host)) !== undefined };
  },

  plan(desired, { wanted, inOrder, texts, dropped, unconfirmed }) {
    const different = wanted.filter(({ path }) => !inOrder.has(path));
    if (different.length + dropped.length === 0 && !unconfirmed) return [];
    // A trial that was not confirmed begins again with the previous files.
    const write = unconfirmed ? wanted : different;
    const parts = [
      ...write.map(({ path }) => `${texts.has(path) ? 'update' : 'write'} ${path}`),
      ...dropped.map((path) => `remove ${path}`),
    ];
    return [
      {
        id: CHANGE,
        summary: `${TOOLS[desired.tool].title}: ${unconfirmed ? 'finish an interrupted change: ' : ''}${parts.join(', ')}; restored if the network is lost`,
        diff: write
          .filter(({ path }) => isPublic(path))
          .map(({ path, content }) => textDiff(texts.get(path) ?? '', content))
          .join('\n'),
        scope: 'node',
        payload: { desired, write, remove: dropped },
      },
    ];
  },

  async apply(host, { payload }, execution) {
    await tryOut(host, payload, execution);
    const { files, keep } = payload.desired;
    execution.remember({ files: files.map(({ path }) => path), keep });
    await confirm(host);
  },
};

/** After a change of the tool, the directory of the earlier tool still has files. */
function pathsOfEarlier({ notes }: StepRecord): readonly string[] {
  const files = member(notes.get(CHANGE), 'files');
  return Array.isArray(files) ? files.filter((path) => typeof path === 'string') : [];
}

/** Everything but these may hold keys and passwords. */
function isPublic(path: string): boolean {
  return /\.(?:network|link)$/.test(basename(path));
}

async function ownerOf(
  host: QueryHost,
  tool: NetworkModel['tool'],
  path: string,
): Promise<Pick<WantedFile, 'mode' | 'gid'>> {
  if (tool !== 'networkd') return { mode: 0o600, gid: 0 };
  if (isPublic(path)) return { mode: 0o644, gid: 0 };
  return { mode: 0o640, gid: (await host.groupId(NETDEV_GROUP)) ?? 0 };
}
