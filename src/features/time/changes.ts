import type { TimeModel } from '@machineadm/document/model/index.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { describeWrite } from '../../owned-files/difference.ts';
import { textDiff } from '../../owned-files/text-diff.ts';
import type { Change, FollowUp } from '../../step/index.ts';
import { type InstalledClient, installedClients } from './clients.ts';
import { type ConfigurationFile, differing } from './configuration.ts';

export interface TimeActual {
  /** The first one is configured. */
  readonly clients: readonly InstalledClient[];
  readonly files: readonly ConfigurationFile[];
}

export type TimePayload =
  | { readonly kind: 'file'; readonly file: ConfigurationFile }
  | { readonly kind: 'act'; readonly act: 'start' | 'stop' | 'enable' | 'disable'; readonly service: string };

/** The installed time services, and the files of the one that is to run. */
export async function inspectTime(host: QueryHost, desired: TimeModel): Promise<TimeActual> {
  const clients = await installedClients(host);
  const [chosen] = clients;
  if (chosen === undefined || !desired.enabled) return { clients, files: [] };
  return { clients, files: await chosen.client.configuration(host, desired.servers) };
}

export function planTime(desired: TimeModel, { clients, files }: TimeActual): readonly Change<TimePayload>[] {
  if (!desired.enabled) return clients.flatMap(switchedOff);
  const [chosen, ...others] = clients;
  if (chosen === undefined) return [];
  const changed = differing(files);
  const changes: Change<TimePayload>[] = [...changed.map((file) => fileChange(file, restartOf(chosen.service)))];
  changes.push(...others.flatMap(switchedOff));
  if (!chosen.state.enabled) changes.push(act(chosen, 'enable', 'base'));
  // The restart after a changed file also starts the service.
  if (!chosen.state.active && changed.length === 0) changes.push(act(chosen, 'start', 'node'));
  return changes;
}

function switchedOff(client: InstalledClient): Change<TimePayload>[] {
  const { state } = client;
  return [
    ...(state.active ? [act(client, 'stop', 'node')] : []),
    ...(state.enabled && state.fixed !== true ? [act(client, 'disable', 'base')] : []),
  ];
}

const SUMMARIES = {
  start: 'start',
  stop: 'stop',
  enable: 'start at boot:',
  disable: 'no longer start at boot:',
} as const;

function act({ service }: InstalledClient, what: keyof typeof SUMMARIES, scope: 'base' | 'node'): Change<TimePayload> {
  return {
    id: `time/${service}/${what}`,
    summary: `${SUMMARIES[what]} ${service}`,
    scope,
    ineffective: 'ServiceFailed',
    payload: { kind: 'act', act: what, service },
  };
}

function fileChange(file: ConfigurationFile, restart: FollowUp): Change<TimePayload> {
  const { path, present, wanted, attributes } = file;
  return {
    id: `time/file/${path}`,
    summary: wanted === undefined ? `remove ${path}` : describeWrite(path, { text: present, attributes }, wanted),
    diff: textDiff(present ?? '', wanted ?? ''),
    scope: 'base',
    owes: [restart],
    payload: { kind: 'file', file },
  };
}

export function restartOf(service: string): FollowUp {
  return `restart:${service}`;
}
