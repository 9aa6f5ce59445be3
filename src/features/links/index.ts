import type { LinkModel } from '@machineadm/document/model/index.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { scopeOfPath } from '../../owned-files/content.ts';
import { type Obstacle, obstructed, placeObstacle } from '../../owned-files/obstacles.ts';
import { requestsPath } from '../../owned-files/requested-paths.ts';
import type { FeatureStep } from '../../step/feature-step.ts';
import { owing } from '../../step/index.ts';

export interface LinkActual {
  /** The target of the present link; undefined: there is no link. */
  readonly target: string | undefined;
  /** The type of what is at the path, if that is not a link. */
  readonly other: string | undefined;
  readonly obstacle: Obstacle | undefined;
}

export interface LinkPayload {
  readonly link: LinkModel;
  /** Obstacles of all links, reported before the first is created. */
  readonly obstacles: readonly Obstacle[];
}

interface LinksDesired {
  readonly links: readonly LinkModel[];
  /** An earlier step runs commands of the document, which may still move things away. */
  readonly afterHooks: boolean;
}

/** Symbolic links of the document. Their targets need not exist. */
export const links: FeatureStep<LinksDesired, readonly LinkActual[], LinkPayload> = {
  id: 'links',
  restoring: { followUps: (path, everOwed) => everOwed.get(`links${path}`) },
  section: 'host.links',
  isRequested: requestsPath,
  owned: ({ host }) => host.links.map(({ path }) => path),

  desired({ host }) {
    const { links, hooks } = host;
    return links.length === 0 ? undefined : { links, afterHooks: hooks.early !== undefined };
  },

  async preflight(host, desired, record) {
    if (desired.afterHooks) return [];
    const found: Obstacle[] = [];
    for (const link of desired.links) {
      found.push(...((await obstacleOf(host, link, record?.owned?.has(link.path))) ?? []));
    }
    return found;
  },

  async inspect(host, { links }, record) {
    const actual: LinkActual[] = [];
    for (const link of links) {
      const obstacle = (await obstacleOf(host, link, record.owned.has(link.path)))?.[0];
      const stat = obstacle === undefined ? await host.stat(link.path) : undefined;
      actual.push({
        target: stat === undefined ? undefined : await host.readLink(link.path),
        other: stat === undefined || stat.type === 'symlink' ? undefined : stat.type,
        obstacle,
      });
    }
    return actual;
  },

  plan({ links }, actual) {
    const obstacles = actual.flatMap(({ obstacle }) => obstacle ?? []);
    return links.flatMap((link, index) => {
      const now = actual[index];
      const { path, target } = link;
      if (now === undefined || (now.obstacle === undefined && now.target === target)) return [];
      const before = now.other === undefined ? now.target : `a ${now.other}`;
      return [
        {
          id: `links${path}`,
          summary: now.obstacle?.what ?? `${path}: ${before === undefined ? 'link' : before} -> ${target}`,
          action: before === undefined ? 'add' : 'change',
          scope: scopeOfPath(path),
          ineffective: 'FileNotWritten',
          ...owing(link),
          payload: { link, obstacles },
        },
      ];
    });
  },

  async apply(host, { payload: { link, obstacles } }) {
    if (obstacles.length > 0) throw obstructed(obstacles);
    await host.writeLink(link.path, link.target);
  },

  async settled(host, { links }) {
    for (const { path } of links) await host.sync(path);
  },
};

/** @param isOurs an earlier run made the link, which may then lead elsewhere without being forced to */
async function obstacleOf(host: QueryHost, link: LinkModel, isOurs = false): Promise<readonly Obstacle[] | undefined> {
  const { path, target, force } = link;
  const scope = scopeOfPath(path);
  const there = await placeObstacle(host, path, force ? ['symlink', 'file'] : ['symlink'], 'host.links');
  if (there !== undefined) return [{ ...there, scope }];
  const found = force || isOurs ? undefined : await host.readLink(path);
  if (found === undefined || found === target) return undefined;
  return [
    {
      path,
      scope,
      reason: 'FileNotWritten',
      what: `${path}: a link to ${found} is there, which machineadm did not make`,
      remedy: `Remove it, or give force: true beside ${path} under host.links.`,
    },
  ];
}
