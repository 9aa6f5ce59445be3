import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { FileModel, Model, ServiceModel } from '@machineadm/document/model/index.ts';
import type { Evidence } from '@machineadm/document/outcomes/errors.ts';
import { unitDropInPath } from '@machineadm/document/ownership/paths.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { isUnitFile, unitObstacles } from '../../content-checks/units.ts';
import type { Host, QueryHost, ServiceState } from '../../host/seam/host.ts';
import { LINES_TO_SEARCH, lastErrors } from '../../host/services/last-errors.ts';
import { unitTrouble } from '../../host/services/unit-trouble.ts';
import { describeWrite, isAsWritten, type OwnFile, readOwnFile } from '../../owned-files/difference.ts';
import { textDiff } from '../../owned-files/text-diff.ts';
import type { FeatureStep } from '../../step/feature-step.ts';
import type { Change, Explanation, FollowUp, UnmetRequirement } from '../../step/index.ts';
import { namedIn } from '../../step/named-in.ts';
import { isAt } from '../../step/wants.ts';

export interface ServicesDesired {
  readonly services: readonly ServiceModel[];
  /** Files of the document; a unit may be among them. */
  readonly files: readonly FileModel[];
  /** An early hook may still install what is missing. */
  readonly afterHooks: boolean;
}

export interface ServiceActual {
  readonly state: ServiceState;
  /** In the order of the document. */
  readonly dropIns: readonly (OwnFile & { readonly path: string })[];
  /** Its unit on disk is, or will be once `files` ran, another than the one that was read. */
  readonly changedOnDisk: boolean;
}

export type ServicePayload =
  | { readonly kind: 'drop-in'; readonly path: string; readonly content: string }
  | { readonly kind: 'act'; readonly act: ServiceAct; readonly name: string }
  /** The change consists of its follow-ups only. */
  | { readonly kind: 'reread' };

export type ServiceAct = 'start' | 'stop' | 'enable' | 'disable' | 'mask' | 'unmask';

/**
 * Services as the document wants them: masked or not, at boot or not, running or not, and their drop-ins. All drop-ins
 * share one daemon-reload, and a service restarts only when an input of it changed. What runs now is the machine's
 * (`node`); what the next boot starts belongs into an image.
 */
export const services: FeatureStep<ServicesDesired, readonly ServiceActual[], ServicePayload> = {
  id: 'services',
  // A unit's own follow-ups are those of its path.
  restoring: { followUps: () => [] },
  section: 'host.services',
  isRequested: (model, { kind, name }) => {
    if (kind === 'path') return ownDropIns(model).some((path) => isAt(path, name));
    const { host, containerd, kubernetes } = model;
    return (
      namedIn(host, 'service', host.services).includes(name) ||
      (name === 'containerd' && containerd !== undefined) ||
      (name === 'kubelet' && kubernetes !== undefined)
    );
  },
  owned: ownDropIns,
  followUps: { settles: ['daemon-reload'], settlesFor: ({ services }) => services.map(restartOf) },

  desired(model) {
    const { services, files, hooks } = model.host;
    return services.length === 0 ? undefined : { services, files, afterHooks: hooks.early !== undefined };
  },

  async preflight(host, desired) {
    const missing: UnmetRequirement[] = [...(await dropInObstacles(host, desired))];
    for (const { service, state } of await withStates(host, desired.services)) {
      missing.push(...dropInsUnknown(host, service));
      if (desired.afterHooks) continue;
      missing.push(...(state.exists ? obstaclesOf(service, state) : absent(service, desired.files)));
    }
    return missing;
  },

  async inspect(host, desired) {
    const actual: ServiceActual[] = [];
    for (const { service, state } of await withStates(host, desired.services)) {
      const dropIns = [];
      for (const { name } of service.dropIns) {
        const path = host.dropInPath(service.name, name);
        if (path !== undefined) dropIns.push({ path, ...(await readOwnFile(host, path)) });
      }
      const changedOnDisk = state.needsReload === true || (await fileWillChange(host, service, desired.files));
      actual.push({ state, dropIns, changedOnDisk: state.exists && changedOnDisk });
    }
    return actual;
  },

  plan(desired, actual) {
    return desired.services.flatMap((service, index) => {
      const now = actual[index];
      return now === undefined ? [] : changesOf(service, now);
    });
  },

  async apply(host, { payload }) {
    if (payload.kind === 'drop-in') await host.writeFile({ path: payload.path, content: payload.content, mode: 0o644 });
    else if (payload.kind === 'act') await host.services[payload.act](payload.name);
  },

  async settled(host, desired, execution) {
    await host.sync('/etc');
    execution.waitingFor('services to keep running');
    await untilSteady(host, namesStarted(desired), STEADY_MS, execution.signal);
    execution.waitingFor(undefined);
  },

  whyNotEffective(host, desired, left) {
    const names = new Set(
      left.flatMap(({ payload }) => (payload.kind === 'act' && payload.act === 'start' ? [payload.name] : [])),
    );
    return explainStopped(
      host,
      namesStarted(desired).filter((name) => names.has(name)),
    );
  },
};

/** A service that ends this soon after its start has failed to start. */
const STEADY_MS = 1_000;

const JOURNAL_LINES = 20;
const LOOK_EVERY_MS = 100;

function namesStarted({ services }: ServicesDesired): readonly string[] {
  return services.filter(({ state, masked }) => state === 'Started' && masked !== true).map(({ name }) => name);
}

/**
 * Waits until services that were just started have run for a while, or have ended. A service manager reports a service
 * of Type=simple as started before it knows whether the program will stay (systemd.service(5)).
 */
async function untilSteady(
  host: Pick<Host, 'service'>,
  names: readonly string[],
  steadyMs: number,
  signal: AbortSignal,
): Promise<void> {
  for (const name of names) {
    const end = performance.now() + steadyMs;
    while (performance.now() < end) {
      const state = await host.service(name);
      // Without a time of its start it has no process: a unit that did its work and stays active.
      if (!state.active || state.startedAtMs === undefined || Date.now() - state.startedAtMs >= steadyMs) break;
      await pause(LOOK_EVERY_MS, undefined, { signal });
    }
  }
}

/** Why services that were started do not run: how they ended, and their last journal lines. */
async function explainStopped(
  host: Pick<Host, 'service' | 'services'>,
  names: readonly string[],
): Promise<Explanation | undefined> {
  const found: { readonly name: string; readonly state: ServiceState; readonly text: string }[] = [];
  for (const name of names) {
    const state = await host.service(name);
    if (state.active) continue;
    found.push({ name, state, text: endedWell(state) ?? unitTrouble(state)?.text ?? `its state is ${state.detail}` });
  }
  const [first] = found;
  if (first === undefined) return undefined;
  const evidence: Evidence[] = [];
  for (const { name, text } of found) {
    evidence.push({ source: `state of ${name}`, text });
    // The journal is evidence; that it cannot be read must not hide the failure itself.
    const log = await host.services.logs(name, LINES_TO_SEARCH).catch(() => []);
    const lines = lastErrors(log, JOURNAL_LINES);
    evidence.push(...lines.map((line) => ({ source: `journal of ${name}`, text: redact(line) })));
  }
  return {
    summary: `${found.map(({ name, text }) => `${name} was started but does not run: ${text}`).join('; ')}.`,
    remedy:
      endedWell(first.state) === undefined
        ? `Correct what its journal names ("journalctl -u ${first.name} -b"), then run again.`
        : `A unit that does its work and ends is never Started: give its unit RemainAfterExit=yes, or remove "state: Started" of ${first.name} from host.services.`,
    evidence,
    retryable: endedWell(first.state) === undefined,
  };
}

function endedWell({ unit }: ServiceState): string | undefined {
  const isWell = unit?.result === 'success' && unit.ended?.by === 'exit' && unit.ended.status === 0;
  return isWell ? 'it ended by itself with exit status 0' : undefined;
}

/**
 * Unmask before what a mask forbids; the restart that a changed input owes stands for the start, too: the service
 * manager must have read the new input first.
 */
function changesOf(service: ServiceModel, { state, dropIns, changedOnDisk }: ServiceActual): Change<ServicePayload>[] {
  const changes: Change<ServicePayload>[] = [];
  const different = service.dropIns.flatMap(({ name, content }, index) => {
    const there = dropIns[index];
    return there === undefined || isAsWritten(there, content) ? [] : [{ name, content, there }];
  });
  const masked = service.masked ?? state.masked;
  const inputsChanged = different.length > 0 || changedOnDisk;
  const wantedUp = service.state === undefined ? state.active : service.state === 'Started';
  const restarts = inputsChanged && wantedUp && !masked;
  const owes: readonly FollowUp[] = restarts ? ['daemon-reload', restartOf(service)] : ['daemon-reload'];
  const act = (what: ServiceAct, summary: string, scope: 'base' | 'node'): void => {
    changes.push({
      id: `services/${service.name}/${what}`,
      summary,
      scope,
      ineffective: 'ServiceFailed',
      payload: { kind: 'act', act: what, name: service.name },
    });
  };

  if (service.masked === false && state.masked) act('unmask', `unmask ${service.name}`, 'base');
  for (const { name, content, there } of different) {
    changes.push({
      id: `services/${service.name}/drop-in/${name}`,
      summary: describeWrite(there.path, there, content),
      diff: textDiff(there.text ?? '', content),
      scope: 'base',
      owes,
      payload: { kind: 'drop-in', path: there.path, content },
    });
  }
  if (changedOnDisk && different.length === 0) {
    changes.push({
      id: `services/${service.name}/reread`,
      summary: `${service.name}: its unit changed on disk`,
      scope: 'base',
      owes,
      payload: { kind: 'reread' },
    });
  }
  if (service.state === 'Stopped' && state.active) act('stop', `stop ${service.name}`, 'node');
  if (service.enabled === true && !state.enabled) act('enable', `start ${service.name} at boot`, 'base');
  if (service.enabled === false && state.enabled && state.fixed !== true) {
    act('disable', `no longer start ${service.name} at boot`, 'base');
  }
  if (service.masked === true && !state.masked) act('mask', `mask ${service.name}`, 'base');
  if (service.state === 'Started' && !state.active && !restarts) act('start', `start ${service.name}`, 'node');
  return changes;
}

function restartOf({ name }: ServiceModel): FollowUp {
  return `restart:${name}`;
}

/** True for the unit file of a service, or a drop-in of it, wherever the service manager looks for them. */
function belongsTo(path: string, service: string): boolean {
  const name = service.endsWith('.service') ? service.slice(0, -'.service'.length) : service;
  // An instance is described by its template (systemd.unit(5)): getty@tty1 by getty@.service.
  const names = name.includes('@') ? [name, `${name.split('@')[0]}@`] : [name];
  return names.some((one) =>
    [`/systemd/system/${one}`, `/systemd/system/${one}.service`, `/etc/init.d/${one}`].some(
      (unit) => path.endsWith(unit) || path.includes(`${unit}.d/`),
    ),
  );
}

async function withStates(host: QueryHost, services: readonly ServiceModel[]) {
  return await Promise.all(services.map(async (service) => ({ service, state: await host.service(service.name) })));
}

/** `plan` inspects the machine before the step `files` has run, and must show what a run does after that step. */
async function fileWillChange(host: QueryHost, service: ServiceModel, files: readonly FileModel[]): Promise<boolean> {
  for (const { path, content } of files) {
    if (content.kind !== 'inline' || !belongsTo(path, service.name)) continue;
    if ((await host.sha256(path)) !== createHash('sha256').update(content.bytes).digest('hex')) return true;
  }
  return false;
}

function absent(service: ServiceModel, files: readonly FileModel[]): readonly UnmetRequirement[] {
  // What is not there can be masked, so that it does not run once it is installed (systemctl(1), mask).
  const onlyMasked = service.masked === true && service.dropIns.length === 0;
  if (onlyMasked || files.some(({ path }) => belongsTo(path, service.name))) return [];
  return [
    {
      reason: 'ServiceMissing',
      what: `the service ${service.name} does not exist`,
      remedy: `Install the package that provides ${service.name}, write its unit with host.files, or correct host.services.`,
    },
  ];
}

function obstaclesOf(service: ServiceModel, state: ServiceState): readonly UnmetRequirement[] {
  const { name } = service;
  const wanted = service.state === 'Started' || service.enabled === true;
  if (wanted && state.masked && service.masked === undefined) {
    return [
      {
        reason: 'ServiceMasked',
        what: `the service ${name} is masked, and the document wants it to run`,
        remedy: `Add "masked: false" to ${name} under host.services if it must not be masked.`,
      },
    ];
  }
  if (service.enabled === false && service.masked !== true && state.enabled && state.fixed === true) {
    return [
      {
        reason: 'ServiceUnsupported',
        what: `the service ${name} cannot be disabled: its unit has no [Install] section, others pull it in`,
        remedy: `Set "masked: true" instead of "enabled: false" if ${name} must never run.`,
      },
    ];
  }
  return [];
}

/** Drop-ins that systemd would refuse or partly ignore. */
async function dropInObstacles(
  host: QueryHost,
  { services, files }: ServicesDesired,
): Promise<readonly UnmetRequirement[]> {
  const dropIns = services.flatMap((service) =>
    service.dropIns.flatMap(({ name, content: text }) => {
      const path = host.dropInPath(service.name, name);
      const change = `services/${service.name}/drop-in/${name}`;
      return path === undefined || !isUnitFile(path)
        ? []
        : [{ path, text, change, scope: 'base' as const, isPublic: true }];
    }),
  );
  if (dropIns.length === 0) return [];
  const laid = files.flatMap(({ path, content }) =>
    content.kind === 'inline' ? [[path, new TextDecoder().decode(content.bytes)] as const] : [],
  );
  return await unitObstacles(host, dropIns, new Map(laid));
}

function dropInsUnknown(host: QueryHost, service: ServiceModel): readonly UnmetRequirement[] {
  const [first] = service.dropIns;
  if (first === undefined || host.dropInPath(service.name, first.name) !== undefined) return [];
  return [
    {
      reason: 'ServiceUnsupported',
      what: `the service manager of this machine knows no drop-ins, and ${service.name} has one`,
      remedy: 'Write the configuration of the service with host.files instead.',
    },
  ];
}

function ownDropIns({ host }: Model): readonly string[] {
  return host.services.flatMap(({ name, dropIns }) => dropIns.map((dropIn) => unitDropInPath(name, dropIn.name)));
}
