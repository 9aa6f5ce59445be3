import type { TimeModel } from '@machineadm/document/model.ts';
import { describeWrite } from '../file-difference.ts';
import type { Change, FollowUp, Step } from '../step.ts';
import { textDiff } from '../text-diff.ts';
import { type InstalledClient, installedClients, TIME_CLIENTS } from './clients.ts';
import { type ConfigurationFile, differing, isOwn } from './configuration.ts';

export interface TimeActual {
  /** The first one is configured. */
  readonly clients: readonly InstalledClient[];
  /** Files of that one. */
  readonly files: readonly ConfigurationFile[];
}

export type TimePayload =
  | { readonly kind: 'file'; readonly file: ConfigurationFile }
  | { readonly kind: 'act'; readonly act: 'start' | 'stop' | 'enable' | 'disable'; readonly service: string };

/**
 * The time service: whichever is installed, the one that runs before the others, with the document's servers in place
 * of the distribution's. Nothing is downloaded. One that runs beside it is stopped: two would pull at one clock.
 */
export const time: Step<TimeModel, TimeActual, TimePayload> = {
  id: 'time',
  settlesFor: () => TIME_CLIENTS.flatMap(({ services }) => services.map(restartOf)),

  desired(model) {
    return model.host.time;
  },

  async owns(host, { enabled, servers }) {
    const [chosen] = enabled ? await installedClients(host) : [];
    const files = (await chosen?.client.configuration(host, servers)) ?? [];
    const field = ['host', 'time', 'servers'];
    return files
      .filter(({ path, present, wanted }) => present !== wanted || isOwn(path, present))
      .map(({ path }) => ({ field, path, kind: isOwn(path, undefined) ? 'file' : 'lines' }));
  },

  async preflight(host, desired) {
    if (!desired.enabled || (await installedClients(host)).length > 0) return [];
    return [
      {
        reason: 'TimeServiceMissing',
        what: 'neither chrony nor systemd-timesyncd nor ntpd is installed, or each is masked',
        remedy: 'Install one of them in the image, or remove host.time: machineadm does not install packages.',
      },
    ];
  },

  async inspect(host, desired) {
    const clients = await installedClients(host);
    const [chosen] = clients;
    if (chosen === undefined || !desired.enabled) return { clients, files: [] };
    return { clients, files: await chosen.client.configuration(host, desired.servers) };
  },

  plan(desired, { clients, files }) {
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
  },

  async apply(host, { payload }) {
    if (payload.kind === 'act') return await host.services[payload.act](payload.service);
    const { path, wanted } = payload.file;
    if (wanted === undefined) return await host.removeFile(path);
    const kept = isOwn(path, undefined) ? undefined : await host.stat(path);
    const { mode = 0o644, uid = 0, gid = 0 } = kept ?? {};
    await host.writeFile({ path, content: wanted, mode, uid, gid });
  },

  settled: async (host) => await host.sync('/etc'),
};

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

function restartOf(service: string): FollowUp {
  return `restart:${service}`;
}
