import type { TimeModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import type { ServiceState } from '../../host/seam/host.ts';
import { askScript, runScript } from '../../host/windows/powershell.ts';
import { READ_TIME, WRITE_TIME } from '../../host/windows/system-scripts.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Change } from '../../step/index.ts';

export interface WindowsTimeActual {
  readonly service: ServiceState;
  /** NTP, NT5DS (the domain's hierarchy), AllSync, NoSync. */
  readonly type: string | undefined;
  readonly servers: string | undefined;
}

export type WindowsTimePayload =
  | { readonly kind: 'servers'; readonly servers: string }
  | { readonly kind: 'act'; readonly act: 'start' | 'stop' | 'enable' | 'disable' };

const SERVICE = 'w32time';
const TIMEOUT_MS = 60_000;

/**
 * The Windows Time service, with the document's servers in the place of its own or the domain's. Outside of a domain it is
 * started by a trigger and ends again; a node's clock must be kept right all the time, so it starts with the machine.
 */
export const windowsTime: FeatureStep<TimeModel, WindowsTimeActual, WindowsTimePayload> = {
  id: 'time',
  section: 'host.time',
  isRequested: STAYS,
  followUps: { settles: [`restart:${SERVICE}`] },

  desired(model) {
    return model.host.time;
  },

  async preflight(host, desired) {
    if (!desired.enabled || (await host.service(SERVICE)).exists) return [];
    const what = `the service ${SERVICE} is not installed`;
    return [{ reason: 'TimeServiceMissing', what, remedy: 'Register it with "w32tm.exe /register", in the image.' }];
  },

  async inspect(host) {
    const told = await askScript(host, READ_TIME);
    return {
      service: await host.service(SERVICE),
      type: text(member(told, 'type')),
      servers: text(member(told, 'servers')),
    };
  },

  plan(desired, { service, type, servers }) {
    const changes: Change<WindowsTimePayload>[] = [];
    const act = (name: 'start' | 'stop' | 'enable' | 'disable', scope: 'base' | 'node'): void => {
      const payload: WindowsTimePayload = { kind: 'act', act: name };
      changes.push({ id: `time/${SERVICE}/${name}`, summary: `${name} ${SERVICE}`, scope, payload });
    };
    if (!desired.enabled) {
      if (service.active) act('stop', 'node');
      if (service.enabled) act('disable', 'base');
      return changes;
    }
    const wanted = peers(desired.servers);
    const differs = desired.servers.length > 0 && (type !== 'NTP' || servers !== wanted);
    if (differs) {
      changes.push({
        id: 'time/servers',
        summary: `servers: ${servers ?? 'none'} (${type ?? 'unknown'}) -> ${wanted} (NTP)`,
        scope: 'base',
        owes: [`restart:${SERVICE}`],
        payload: { kind: 'servers', servers: wanted },
      });
    }
    if (!service.enabled) act('enable', 'base');
    // The restart after a change of servers also starts the service.
    if (!service.active && !differs) act('start', 'node');
    return changes;
  },

  async apply(host, { payload }, { signal }) {
    if (payload.kind === 'act') return await host.services[payload.act](SERVICE);
    const told = await runScript(host, WRITE_TIME, { servers: payload.servers }, { timeoutMs: TIMEOUT_MS, signal });
    if (text(member(told, 'servers')) === payload.servers) return;
    throw new MachineadmError({
      reason: 'HostStepFailed',
      summary: 'Windows did not keep the time servers of the document.',
      remedy: 'Check whether a group policy sets them: "w32tm.exe /query /configuration" names it as "Policy".',
    });
  },
};

/** As the registry has them: 0x8 asks a server as a client, which any time server answers ("Windows Time service tools"). */
export function peers(servers: readonly string[]): string {
  return servers.map((server) => `${server},0x8`).join(' ');
}
