import type { TimeModel } from '@machineadm/document/model/index.ts';
import type { FeatureStep } from '../../step/feature-step.ts';
import { inspectTime, planTime, restartOf, type TimeActual, type TimePayload } from './changes.ts';
import { installedClients, TIME_CLIENTS } from './clients.ts';
import { isOwn } from './configuration.ts';

/**
 * The time service: whichever is installed, the one that runs before the others, with the document's servers in place
 * of the distribution's. Nothing is downloaded. One that runs beside it is stopped: two would pull at one clock.
 */
export const time: FeatureStep<TimeModel, TimeActual, TimePayload> = {
  id: 'time',
  section: 'host.time',
  isRequested: ({ host }) => host.time !== undefined,
  followUps: { settles: [], settlesFor: () => TIME_CLIENTS.flatMap(({ services }) => services.map(restartOf)) },

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

  inspect: inspectTime,
  plan: planTime,

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
