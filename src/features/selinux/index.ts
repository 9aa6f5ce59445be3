import { dirname } from 'node:path/posix';
import type { SelinuxModel } from '@machineadm/document/model/index.ts';
import { errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { SELINUX_CONFIGURATION } from '@machineadm/document/ownership/paths.ts';
import { member } from '@machineadm/document/values/untyped.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { textDiff } from '../../owned-files/text-diff.ts';
import { hostStepFailed } from '../../step/command-failed.ts';
import type { FeatureStep, Prunable } from '../../step/feature-step.ts';
import type { Change, Execution, UnmetRequirement } from '../../step/index.ts';

const FILE_SYSTEM = '/sys/fs/selinux';
const ENFORCE = `${FILE_SYSTEM}/enforce`;
const BOOLEANS_CHANGE = 'selinux/booleans';
const CONTEXTS_CHANGE = 'selinux/file-contexts';
/** Each change of the policy rebuilds all of it. */
const POLICY_TIMEOUT_MS = 600_000;

export interface SelinuxActual {
  /** The content of /etc/selinux/config; undefined: there is no such file. */
  readonly configuration: string | undefined;
  readonly running: 'Enforcing' | 'Permissive' | undefined;
  /** Booleans that do not have their value now, or not at the next boot. */
  readonly wrongBooleans: readonly string[];
  /** The types that semanage has, by expression. */
  readonly types: ReadonlyMap<string, string>;
  /** Expressions of an earlier document. */
  readonly dropped: readonly string[];
}

type SelinuxPayload =
  | { readonly kind: 'configuration'; readonly content: string }
  | { readonly kind: 'mode'; readonly mode: 'Enforcing' | 'Permissive' }
  | { readonly kind: 'booleans'; readonly values: readonly string[] }
  | {
      readonly kind: 'contexts';
      readonly wanted: SelinuxModel['fileContexts'];
      readonly set: readonly { readonly path: string; readonly type: string; readonly isNew: boolean }[];
      readonly dropped: readonly string[];
    };

/**
 * SELinux on a machine where it is enabled. Enabling it needs a boot that relabels all files, so that belongs to an
 * image.
 */
export const selinux: FeatureStep<Prunable<SelinuxModel>, SelinuxActual, SelinuxPayload> = {
  id: 'selinux',
  section: 'host.selinux',
  stays: ({ host }, { acted }) =>
    acted?.has('selinux/booleans') === true && Object.keys(host.selinux?.booleans ?? {}).length === 0
      ? [['selinux/booleans', 'SELinux booleans keep their values: setsebool -P changes them']]
      : [],
  isRequested: ({ host }) => host.selinux?.mode !== undefined,
  leaves({ changes, notes }) {
    const paths = labelled(notes);
    const values = member(notes.get(BOOLEANS_CHANGE), 'values');
    return [
      ...(changes.has(BOOLEANS_CHANGE)
        ? [
            `the SELinux booleans ${Array.isArray(values) ? values.join(', ') : 'of the document'}: setsebool -P changes them`,
          ]
        : []),
      ...(changes.has(CONTEXTS_CHANGE) && paths.length > 0
        ? [`the SELinux labels of ${paths.join(', ')}: semanage fcontext --delete removes them`]
        : []),
    ];
  },

  // Without a section, the labels of an earlier document are still taken away.
  desired: ({ host: { selinux, prune } }) => ({
    ...(selinux ?? { mode: undefined, booleans: {}, fileContexts: [] }),
    prune,
  }),

  idle: (desired, { notes }) => !asks(desired) && (desired.prune === 'Never' || labelled(notes).length === 0),

  async preflight(host, desired) {
    if (!asks(desired)) return [];
    const { booleans, fileContexts } = desired;
    if ((await host.stat(ENFORCE)) === undefined) {
      return [
        {
          reason: 'SecurityModuleMissing',
          what: 'SELinux is not enabled in the running kernel',
          remedy:
            'Enable it in the image, with a boot that relabels all files (touch /.autorelabel), or remove host.selinux.',
          field: 'host.selinux',
        },
      ];
    }
    const found: UnmetRequirement[] = [];
    for (const [program, isNeeded, what] of [
      ['setsebool', Object.keys(booleans).length > 0, 'policycoreutils'],
      ['semanage', fileContexts.length > 0, 'policycoreutils-python-utils'],
    ] as const) {
      if (!isNeeded || (await host.which(program)) !== undefined) continue;
      const remedy = `Install ${what} in the image.`;
      found.push({
        reason: 'SecurityModuleMissing',
        what: `${program} is not installed`,
        remedy,
        field: 'host.selinux',
      });
    }
    for (const name of Object.keys(booleans)) {
      if ((await host.stat(`${FILE_SYSTEM}/booleans/${name}`)) !== undefined) continue;
      found.push({
        reason: 'SecurityPolicyInvalid',
        what: `the SELinux policy of this machine has no boolean ${name}`,
        remedy: 'Correct the name: "getsebool -a" lists all. Those of containers are of the package container-selinux.',
        field: `host.selinux.booleans.${name}`,
      });
    }
    return found;
  },

  async inspect(host, { booleans, fileContexts, prune }, { notes }) {
    const configuration = await host.readText(SELINUX_CONFIGURATION);
    const policy = /^SELINUXTYPE=(\w+)/m.exec(configuration ?? '')?.[1] ?? 'targeted';
    const enforce = (await host.readText(ENFORCE))?.trim();
    const wrongBooleans: string[] = [];
    const kept = await keptBooleans(host, policy);
    for (const [name, value] of Object.entries(booleans)) {
      const now = (await host.readText(`${FILE_SYSTEM}/booleans/${name}`))?.trim().split(' ')[0];
      const isKept = kept === undefined || kept.get(name) === value;
      if (now !== (value ? '1' : '0') || !isKept) wrongBooleans.push(name);
    }
    const types = await localTypes(host, policy);
    const earlier = prune === 'Never' ? [] : labelled(notes);
    const dropped = earlier.filter((path) => types.has(path) && !fileContexts.some((one) => one.path === path));
    const running = enforce === undefined ? undefined : enforce === '1' ? 'Enforcing' : 'Permissive';
    return { configuration, running, wrongBooleans, types, dropped };
  },

  plan({ mode, booleans, fileContexts }, { configuration = '', running, wrongBooleans, types, dropped }) {
    const changes: Change<SelinuxPayload>[] = [];
    if (mode !== undefined) {
      const content = withMode(configuration, mode);
      if (content !== configuration) {
        changes.push({
          id: 'selinux/configuration',
          summary: `${SELINUX_CONFIGURATION}: SELINUX=${mode.toLowerCase()}`,
          diff: textDiff(configuration, content),
          scope: 'base',
          payload: { kind: 'configuration', content },
        });
      }
    }
    if (wrongBooleans.length > 0) {
      const values = wrongBooleans.map((name) => `${name}=${booleans[name] === true ? 'on' : 'off'}`);
      const payload: SelinuxPayload = { kind: 'booleans', values };
      changes.push({
        id: BOOLEANS_CHANGE,
        summary: `set ${values.join(', ')}, now and at every boot`,
        scope: 'base',
        payload,
      });
    }
    const set = fileContexts
      .filter(({ path, type }) => types.get(path) !== type)
      .map((one) => ({ ...one, isNew: !types.has(one.path) }));
    if (set.length + dropped.length > 0) {
      const parts = [
        ...set.map(({ path, type }) => `${path} is ${type}`),
        ...dropped.map((path) => `${path} as the policy has it`),
      ];
      changes.push({
        id: CONTEXTS_CHANGE,
        summary: `labels: ${parts.join(', ')}`,
        scope: 'base',
        payload: { kind: 'contexts', wanted: fileContexts, set, dropped },
      });
    }
    // The mode is set last, when booleans and labels are in place.
    if (mode !== undefined && running !== mode) {
      const summary = `running mode: ${running ?? 'none'} -> ${mode}`;
      changes.push({ id: 'selinux/mode', summary, scope: 'node', payload: { kind: 'mode', mode } });
    }
    return changes;
  },

  async apply(host, { payload }, execution) {
    switch (payload.kind) {
      case 'configuration': {
        const stat = await host.stat(SELINUX_CONFIGURATION);
        return await host.writeFile({
          path: SELINUX_CONFIGURATION,
          content: payload.content,
          mode: stat?.type === 'file' ? stat.mode : 0o644,
        });
      }
      case 'mode':
        return await setRunningMode(host, payload.mode);
      case 'booleans':
        execution.remember({ values: payload.values });
        return await run(host, ['setsebool', '-P', ...payload.values], execution);
      case 'contexts':
        return await setContexts(host, payload, execution);
    }
  },

  settled: async (host) => await host.sync('/etc'),
};

/** As setenforce(8) does it, so that a reset knows the previous mode. */
async function setRunningMode(host: Host, mode: 'Enforcing' | 'Permissive'): Promise<void> {
  try {
    await host.writeKernelFile(ENFORCE, mode === 'Enforcing' ? '1' : '0');
  } catch (error) {
    throw new MachineadmError({
      reason: 'HostStepFailed',
      summary: `the running mode of SELinux could not be set to ${mode}`,
      remedy:
        'Run setenforce in a root shell: the policy may forbid it (boolean secure_mode_policyload), or the kernel is locked down.',
      evidence: [{ source: ENFORCE, text: errorMessage(error) }],
      cause: error,
    });
  }
}

async function setContexts(
  host: Host,
  { wanted, set, dropped }: Extract<SelinuxPayload, { kind: 'contexts' }>,
  execution: Execution,
): Promise<void> {
  // Before the first: an expression that a killed run added is known to the next.
  execution.remember({ paths: [...wanted.map(({ path }) => path), ...dropped] });
  for (const { path, type, isNew } of set) {
    await run(host, ['semanage', 'fcontext', isNew ? '-a' : '-m', '-t', type, path], execution);
  }
  for (const path of dropped) await run(host, ['semanage', 'fcontext', '-d', path], execution);
  for (const expression of [...set.map(({ path }) => path), ...dropped]) {
    const path = await treeOf(host, expression);
    if (path === '/') execution.warn(`${expression}: run "restorecon -R" on what it matches: that may be anywhere`);
    else if ((await host.stat(path)) !== undefined) await run(host, ['restorecon', '-R', path], execution);
  }
  execution.remember({ paths: wanted.map(({ path }) => path) });
}

function asks({ mode, booleans, fileContexts }: SelinuxModel): boolean {
  return mode !== undefined || Object.keys(booleans).length + fileContexts.length > 0;
}

/** Expressions of this document or an earlier one. */
function labelled(notes: ReadonlyMap<string, unknown>): readonly string[] {
  const paths = member(notes.get(CONTEXTS_CHANGE), 'paths');
  return Array.isArray(paths) ? paths.filter((path) => typeof path === 'string') : [];
}

/** The directory or file that holds everything that an expression matches. */
async function treeOf(host: QueryHost, expression: string): Promise<string> {
  const literal = /^(?:[^.[\](){}*+?^$|\\]|\\.)*/.exec(expression)?.[0].replace(/\\(.)/g, '$1') ?? '/';
  const path = literal.replace(/(?<=.)\/$/, '');
  return (await host.stat(path)) === undefined ? dirname(path) : path;
}

function withMode(configuration: string, mode: string): string {
  const line = `SELINUX=${mode.toLowerCase()}`;
  if (/^SELINUX=/m.test(configuration)) return configuration.replace(/^SELINUX=.*$/m, line);
  return `${configuration}${configuration === '' || configuration.endsWith('\n') ? '' : '\n'}${line}\n`;
}

/** Booleans that were set for every boot; undefined where the policy store is elsewhere (semanage.conf(5), store-root). */
async function keptBooleans(host: QueryHost, policy: string): Promise<ReadonlyMap<string, boolean> | undefined> {
  const store = `/var/lib/selinux/${policy}/active`;
  if ((await host.stat(store)) === undefined) return undefined;
  const lines = ((await host.readText(`${store}/booleans.local`)) ?? '').matchAll(/^[ \t]*(\w+)\s*=\s*(\w+)/gm);
  return new Map([...lines].map(([, name = '', value = '']) => [name, /^(?:1|on|true)$/.test(value)]));
}

/** What semanage fcontext keeps: `EXPRESSION [-KIND] USER:ROLE:TYPE:LEVEL` (file_contexts(5)). */
async function localTypes(host: QueryHost, policy: string): Promise<ReadonlyMap<string, string>> {
  const text = (await host.readText(`/etc/selinux/${policy}/contexts/files/file_contexts.local`)) ?? '';
  const lines = text.split('\n').map((line) => line.trim().split(/\s+/));
  return new Map(
    lines.flatMap((fields): [string, string][] => {
      const type = fields.at(-1)?.split(':')[2];
      return fields.length === 2 && fields[0] !== undefined && type !== undefined ? [[fields[0], type]] : [];
    }),
  );
}

async function run(host: Host, command: readonly [string, ...string[]], { signal }: Execution): Promise<void> {
  const [program, ...args] = command;
  const result = await host.run({ program, args, timeoutMs: POLICY_TIMEOUT_MS, signal });
  if (result.status !== 0) throw hostStepFailed(command, result);
}
