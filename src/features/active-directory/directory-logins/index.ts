import { setTimeout as sleep } from 'node:timers/promises';
import { evidenceFrom, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { NAME_SERVICE_SWITCH } from '@machineadm/document/ownership/paths.ts';
import { lastLine } from '@machineadm/document/text/printable.ts';
import type { Host, QueryHost } from '../../../host/seam/host.ts';
import { isAsWritten, type OwnFile, readOwnFile } from '../../../owned-files/difference.ts';
import { textDiff } from '../../../owned-files/text-diff.ts';
import type { FeatureStep } from '../../../step/feature-step.ts';
import type { Change, FollowUp, UnmetRequirement } from '../../../step/index.ts';
import { membershipOf } from '../membership.ts';
import {
  type LoginsDesired,
  qualifiedGroups,
  SSSD_CONFIGURATION,
  SSSD_HEADING,
  sssdConfiguration,
  withDirectory,
} from './configuration.ts';

const RESTART: FollowUp = 'restart:sssd';
const TOOL_TIMEOUT_MS = 60_000;
/** sssd answers a second after its start; a busy machine and a slow directory take longer. */
const ANSWER_TIMEOUT_MS = 60_000;

/** The system's own tool for adding sssd to PAM's stacks. */
interface PamTool {
  readonly program: 'pam-auth-update' | 'authselect';
  readonly args: readonly string[];
  /** True: it also writes nsswitch.conf. */
  readonly ownsNameServiceSwitch: boolean;
}

export interface LoginsActual {
  readonly configuration: OwnFile;
  /** undefined: it does not exist, or is not ours to write. */
  readonly nameServiceSwitch: string | undefined;
  readonly pam: { readonly tool: PamTool; readonly done: boolean } | undefined;
  readonly enabled: boolean;
  /** Groups of the document that the system does not know. */
  readonly unknownGroups: readonly string[];
}

export type LoginsPayload =
  | { readonly kind: 'file'; readonly path: string; readonly content: string; readonly mode: number }
  | { readonly kind: 'pam'; readonly tool: PamTool }
  | { readonly kind: 'enable' }
  /** No change except pending follow-ups. */
  | { readonly kind: 'restart' };

/**
 * Logins of the domain's users, where the document allows them: sssd, NSS and PAM. Complete when the system knows each
 * of the permitted groups.
 */
export const directoryLogins: FeatureStep<LoginsDesired, LoginsActual, LoginsPayload> = {
  id: 'directory-logins',
  section: 'host.activeDirectory',
  isRequested: ({ host }) => host.activeDirectory?.logins !== undefined,
  leaves: 'what sssd remembers of the domain (/var/lib/sss): sss_cache --everything makes it stale',
  followUps: { settles: [RESTART] },

  desired(model, facts) {
    // Windows permits them by itself.
    const membership = facts.platform === 'linux' ? membershipOf(model, facts) : undefined;
    return membership?.logins === undefined ? undefined : { ...membership.logins, membership };
  },

  async preflight(host, desired) {
    const missing: UnmetRequirement[] = [];
    const lacks = (what: string, remedy: string) =>
      missing.push({ reason: 'ActiveDirectoryToolMissing', what: `${what}, for host.activeDirectory.logins`, remedy });
    if ((await host.which('sssd')) === undefined) {
      lacks('sssd is not installed', 'Install it in the image (Debian: sssd-ad, libnss-sss, libpam-sss).');
    }
    if ((await pamTool(host, desired.createsHomes)) === undefined) {
      lacks('neither pam-auth-update nor authselect is there', 'Put one of them into the image.');
    }
    return missing;
  },

  async inspect(host, desired) {
    const tool = await pamTool(host, desired.createsHomes);
    return {
      configuration: await readOwnFile(host, SSSD_CONFIGURATION.path, SSSD_CONFIGURATION.mode),
      nameServiceSwitch: tool?.ownsNameServiceSwitch ? undefined : ((await host.readText(NAME_SERVICE_SWITCH)) ?? ''),
      pam: tool && { tool, done: await usesSssd(host, tool, desired.createsHomes) },
      enabled: (await host.service('sssd')).enabled,
      unknownGroups: await unknownGroups(host, desired),
    };
  },

  plan(desired, actual) {
    const changes: Change<LoginsPayload>[] = [];
    const change = (name: string, summary: string, payload: LoginsPayload, diff?: string): void => {
      const id = `directory-logins/${name}`;
      const ineffective = 'DirectoryLoginsNotConfigured';
      changes.push({ id, summary, diff, scope: 'node', owes: [RESTART], ineffective, payload });
    };
    const file = (name: string, path: string, mode: number, before: string | undefined, content: string): void => {
      const summary = `${before === undefined ? 'write' : 'update'} ${path}`;
      // A foreign sssd.conf may contain a password, which a plan must not show.
      const shown =
        mode === 0o600 && before?.startsWith(SSSD_HEADING) === false ? undefined : textDiff(before ?? '', content);
      change(name, summary, { kind: 'file', path, content, mode }, shown);
    };
    const configuration = sssdConfiguration(desired);
    const { path, mode } = SSSD_CONFIGURATION;
    if (!isAsWritten(actual.configuration, configuration)) {
      file('sssd.conf', path, mode, actual.configuration.text, configuration);
    }
    const switched = actual.nameServiceSwitch === undefined ? undefined : withDirectory(actual.nameServiceSwitch);
    if (switched !== undefined && switched !== actual.nameServiceSwitch) {
      file('nsswitch.conf', NAME_SERVICE_SWITCH, 0o644, actual.nameServiceSwitch || undefined, switched);
    }
    if (actual.pam?.done === false) {
      const { tool } = actual.pam;
      change('pam', `${tool.program} ${tool.args.join(' ')}`, { kind: 'pam', tool });
    }
    if (!actual.enabled) change('enable', 'start sssd at boot', { kind: 'enable' });
    if (actual.unknownGroups.length > 0 && changes.length === 0) {
      change('restart', `let sssd find ${actual.unknownGroups.join(', ')}`, { kind: 'restart' });
    }
    return changes;
  },

  async apply(host, { payload }, { signal }) {
    switch (payload.kind) {
      case 'file':
        return await host.writeFile({ ...payload, directoryMode: payload.mode === 0o600 ? 0o700 : 0o755 });
      case 'pam':
        return await configurePam(host, payload.tool, signal);
      case 'enable':
        return await host.services.enable('sssd');
      case 'restart':
        return;
    }
  },

  async settled(host, desired, { signal, waitingFor }) {
    await host.sync('/etc');
    waitingFor('sssd to know the groups that may log in');
    const end = Date.now() + ANSWER_TIMEOUT_MS;
    for (;;) {
      const unknown = await unknownGroups(host, desired);
      if (unknown.length === 0) return;
      if (Date.now() > end) throw await groupsUnknown(host, unknown);
      await sleep(500, undefined, { signal });
    }
  },
};

async function unknownGroups(host: QueryHost, desired: LoginsDesired): Promise<readonly string[]> {
  const unknown: string[] = [];
  for (const group of qualifiedGroups(desired)) {
    const { status } = await host.query({ program: 'getent', args: ['group', group] });
    if (status !== 0) unknown.push(group);
  }
  return unknown;
}

/** Debian's pam-auth-update(8), with the profiles of libpam-sss and libpam-modules; else authselect(8). undefined: neither. */
async function pamTool(host: QueryHost, createsHomes: boolean): Promise<PamTool | undefined> {
  if ((await host.which('pam-auth-update')) !== undefined) {
    const args = ['--package', '--enable', 'sss', ...(createsHomes ? ['mkhomedir'] : [])];
    return { program: 'pam-auth-update', args, ownsNameServiceSwitch: false };
  }
  if ((await host.which('authselect')) === undefined) return undefined;
  const args = ['select', 'sssd', ...(createsHomes ? ['with-mkhomedir'] : []), '--force'];
  return { program: 'authselect', args, ownsNameServiceSwitch: true };
}

/** Whether that was done, from the files that the tool writes. */
async function usesSssd(host: QueryHost, { program }: PamTool, createsHomes: boolean): Promise<boolean> {
  if (program === 'authselect') {
    const [profile, ...features] = ((await host.readText('/etc/authselect/authselect.conf')) ?? '').split('\n');
    return profile === 'sssd' && (!createsHomes || features.includes('with-mkhomedir'));
  }
  const has = async (stack: string, module: string) =>
    new RegExp(`^[^#\\n]*\\b${module}\\.so`, 'm').test((await host.readText(`/etc/pam.d/${stack}`)) ?? '');
  return (await has('common-auth', 'pam_sss')) && (!createsHomes || (await has('common-session', 'pam_mkhomedir')));
}

async function configurePam(host: Host, { program, args }: PamTool, signal: AbortSignal): Promise<void> {
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  const changes = ['tree:/etc/pam.d', 'tree:/etc/authselect', `path:${NAME_SERVICE_SWITCH}`] as const;
  const result = await host.run({ program, args, env, timeoutMs: TOOL_TIMEOUT_MS, signal, changes });
  if (result.status === 0) return;
  throw new MachineadmError({
    reason: 'DirectoryLoginsNotConfigured',
    summary: `${program} could not put sssd into the stacks of PAM.`,
    remedy: 'Read its message in the evidence; on Debian, the package libpam-sss has the profile.',
    evidence: [{ source: program, text: lastLine(result.stderr) }],
  });
}

async function groupsUnknown(host: Host, groups: readonly string[]): Promise<MachineadmError> {
  const log = await host.services.logs('sssd', 3);
  return new MachineadmError({
    reason: 'DirectoryLoginsNotConfigured',
    summary: `sssd runs, but the system does not know ${groups.join(', ')}, so their members could not log in.`,
    remedy:
      'Correct host.activeDirectory.logins.allowedGroups, or find out why sssd does not find them (journalctl -u sssd); NSS needs its module (Debian: libnss-sss).',
    evidence: [
      ...groups.map((group) => ({ source: `getent group ${group}`, text: 'not found' })),
      ...evidenceFrom('journal of sssd', log),
    ],
  });
}
