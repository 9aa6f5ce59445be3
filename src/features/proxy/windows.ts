import { holdsCredentials } from '@machineadm/document/host-parts/proxy-url.ts';
import type { ProxyModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { member, strings, text } from '@machineadm/document/values/untyped.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { askScript, runScript } from '../../host/windows/powershell.ts';
import {
  READ_ENVIRONMENT,
  WRITE_MACHINE_ENVIRONMENT,
  WRITE_SERVICE_ENVIRONMENT,
} from '../../host/windows/system-scripts.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import { restartIfActive } from '../../step/follow-up.ts';
import type { Change, UnmetRequirement } from '../../step/index.ts';
import { bypassOf } from './bypass.ts';
import { ifSecretsExist, missingOfProxy, type ProxyUrls, proxyUrls } from './variables.ts';

const SERVICES = ['containerd', 'kubelet'] as const;
/** Names of variables mean the same in upper and lower case on Windows. */
const NAMES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'] as const;
type Name = (typeof NAMES)[number];
type Variables = Readonly<Record<Name, string | undefined>>;

const TIMEOUT_MS = 60_000;

export interface WindowsProxyDesired {
  readonly proxy: ProxyModel;
  readonly bypass: readonly string[];
  /** An early hook may still write the file of a secret. */
  readonly afterHooks: boolean;
}

export interface WindowsProxyActual {
  /** undefined: finding the URLs out has effects, so a run only does. */
  readonly wanted: Variables | undefined;
  readonly machine: Variables;
  readonly services: readonly {
    readonly name: (typeof SERVICES)[number];
    readonly active: boolean;
    readonly lines: readonly string[];
  }[];
}

export type WindowsProxyPayload =
  | {
      readonly kind: 'service';
      readonly name: string;
      readonly others: readonly string[];
      readonly desired: WindowsProxyDesired | undefined;
    }
  | { readonly kind: 'machine'; readonly desired: WindowsProxyDesired | undefined };

/**
 * The proxy of containerd and the kubelet, in the environment that the registry has for each, and that of everybody, in
 * the environment of the machine. All local users may read both, so a proxy with a password is for the agent alone.
 */
export const windowsProxy: FeatureStep<WindowsProxyDesired, WindowsProxyActual, WindowsProxyPayload> = {
  id: 'proxy',
  section: 'host.proxy',
  isRequested: STAYS,
  followUps: {
    settles: ['restart:containerd', 'restart:kubelet'],
    /** What does not run needs no restart: it reads the variables when it is started. */
    perform: (host, _desired, followUp) => restartIfActive(host, followUp),
  },

  desired(model, facts) {
    const { proxy, hooks } = model.host;
    if (proxy === undefined) return undefined;
    return {
      proxy,
      bypass: bypassOf(proxy, model.kubernetes, facts),
      afterHooks: hooks.early !== undefined,
    };
  },

  async preflight(host, desired): Promise<readonly UnmetRequirement[]> {
    return await missingOfProxy(wantedVariables(host, desired), desired.afterHooks);
  },

  async inspect(host, desired) {
    const told = await askScript(host, READ_ENVIRONMENT, { services: SERVICES, names: NAMES });
    const services = [];
    const answers = member(told, 'services');
    for (const name of SERVICES) {
      const found = (Array.isArray(answers) ? answers : []).find((one) => member(one, 'name') === name);
      const lines = member(found, 'lines');
      if (member(found, 'exists') !== true) continue;
      services.push({ name, active: (await host.service(name)).active, lines: strings(lines) });
    }
    const machine = member(told, 'machine');
    return {
      wanted: await ifSecretsExist(wantedVariables(host, desired)),
      machine: variablesOf((name) => text(member(machine, name))),
      services,
    };
  },

  plan(desired, { wanted, machine, services }) {
    const changes: Change<WindowsProxyPayload>[] = [];
    for (const { name, active, lines } of services) {
      const has = desired.proxy.for.includes(name);
      const [ours, others] = [lines.filter(isOurs), lines.filter((line) => !isOurs(line))];
      const right = has ? wanted !== undefined && same(ours, linesOf(wanted)) : ours.length === 0;
      if (right) continue;
      changes.push({
        id: `proxy/${name}`,
        summary: has ? `${name} has the proxy in its environment` : `${name} no longer has a proxy in its environment`,
        scope: 'node',
        owes: active ? [name === 'kubelet' ? 'restart:kubelet' : 'restart:containerd'] : [],
        payload: { kind: 'service', name, others, desired: has ? desired : undefined },
      });
    }
    const forAll = desired.proxy.for.includes('environment');
    const has = linesOf(machine);
    const right = forAll ? wanted !== undefined && same(has, linesOf(wanted)) : true;
    if (!right) {
      const payload: WindowsProxyPayload = { kind: 'machine', desired };
      changes.push({
        id: 'proxy/environment',
        summary: 'the proxy in the environment of the machine',
        scope: 'node',
        payload,
      });
    }
    return changes;
  },

  async apply(host, { payload }, { signal }) {
    const { desired } = payload;
    const wanted = desired === undefined ? undefined : await wantedVariables(host, desired);
    const options = { timeoutMs: TIMEOUT_MS, signal };
    if (payload.kind === 'service') {
      const lines = [...payload.others, ...(wanted === undefined ? [] : linesOf(wanted))];
      const told = await runScript(host, WRITE_SERVICE_ENVIRONMENT, { service: payload.name, lines }, options);
      if (same(strings(member(told, 'lines')), lines)) return;
      throw notKept(`the environment of the service ${payload.name}`);
    }
    const variables = NAMES.map((name) => ({ name, value: wanted?.[name] ?? null }));
    const told = await runScript(host, WRITE_MACHINE_ENVIRONMENT, { variables }, options);
    if (!same(strings(member(told, 'written')), NAMES)) throw notKept('the environment of the machine');
  },
};

/** Throws `ProxyInvalid`, `SecretUnavailable`; undefined: finding it out has effects, and this host may only be asked. */
async function wantedVariables(host: QueryHost, desired: WindowsProxyDesired): Promise<Variables | undefined> {
  const urls = await proxyUrls(host, desired.proxy);
  if (urls === undefined) return undefined;
  const { for: users } = desired.proxy;
  for (const key of ['http', 'https'] as const) {
    if (holdsCredentials(urls[key] ?? '') && users.some((user) => user !== 'agent')) throw wouldBeShown(key);
  }
  return variables(urls, desired.bypass);
}

function variables({ http, https }: ProxyUrls, bypass: readonly string[]): Variables {
  return { HTTP_PROXY: http, HTTPS_PROXY: https, NO_PROXY: bypass.join(',') };
}

function variablesOf(value: (name: Name) => string | undefined): Variables {
  return { HTTP_PROXY: value('HTTP_PROXY'), HTTPS_PROXY: value('HTTPS_PROXY'), NO_PROXY: value('NO_PROXY') };
}

function linesOf(variables: Variables): string[] {
  return NAMES.flatMap((name) => (variables[name] === undefined ? [] : [`${name}=${variables[name]}`]));
}

function isOurs(line: string): boolean {
  return /^(https?|no)_proxy=/i.test(line);
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((line, index) => line === b[index]);
}

function wouldBeShown(key: 'http' | 'https'): MachineadmError {
  return new MachineadmError({
    reason: 'ProxyInvalid',
    summary: `host.proxy.${key} contains credentials, which every local user of a Windows machine could read in the registry.`,
    remedy: 'Use a proxy without credentials for the services, or exclude them: for: [agent].',
  });
}

function notKept(what: string): MachineadmError {
  return new MachineadmError({
    reason: 'HostStepFailed',
    summary: `Windows did not keep ${what}.`,
    remedy: 'Check whether a group policy or an agent of the image sets it, too.',
  });
}
