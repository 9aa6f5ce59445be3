import type { HookGroupSection } from '@machineadm/document/host-parts/hooks.ts';
import type { HostSection } from '@machineadm/document/versions/v1alpha1/host.ts';
import type { Conversion } from '../inputs/conversion.ts';
import { placeholderCommand, placeholderName } from '../kubernetes/placeholder.ts';
import type { CommandSpec, Spec } from '../spec/spec.ts';
import { hasMark } from '../texts/jinja.ts';
import { reportProviderFiles } from './provider-files.ts';
import { reportInstalls, reportLost, trapsExit } from './shell-lints.ts';
import { whole } from './shell-syntax.ts';

type Hooks = NonNullable<HostSection['hooks']>;

/** kubeadm's file as Ignition names it, and as machineadm does. */
const IGNITION_FILE = '/etc/kubeadm.yml';
const INIT_FILE = '/run/kubeadm/kubeadm.yaml';
const JOIN_FILE = '/run/kubeadm/kubeadm-join-config.yaml';

/** cloudinit/config/cc_bootcmd.py exports this variable to the commands. */
const INSTANCE_ID = /\$(?:INSTANCE_ID\b|\{INSTANCE_ID\b)/;

/**
 * `host.hooks`. The provider writes the commands and kubeadm between them into one script: exports, variables, the
 * working directory and options of the shell carry over (`singleScript`). cloud-init's script has no `set -e`
 * (cloudinit/util.py, shellify); the provider's for Ignition has (pkg/ignition/clc/clc.go). cloudbase-init writes one
 * batch file, whose state cannot be saved (cloudbaseinit/plugins/common/userdataplugins/cloudconfigplugins/runcmd.py).
 */
export function convertHooks(spec: Spec, initializes: boolean, conversion: Conversion): Hooks | undefined {
  const { report, platform } = conversion;
  const isScript = platform !== 'Windows';
  const ofIgnition = isScript && spec.flavour === 'ignition';
  const shell = isScript ? (ofIgnition ? 'bash' : undefined) : 'cmd';
  const file = initializes ? INIT_FILE : JOIN_FILE;
  if (isScript) reportProviderFiles(spec, file, report);
  const registration = (initializes ? spec.init : spec.join).get('nodeRegistration');
  const placeholder = isScript ? placeholderName(registration, spec) : undefined;
  if (placeholder !== undefined) report.add('NameByCommand', registration.get('name'), placeholder);
  const group = (commands: readonly CommandSpec[], begins: boolean): HookGroupSection | undefined => {
    if (commands.length === 0) return undefined;
    for (const command of commands) lint(command, spec, conversion);
    return {
      shell: begins || !isScript ? shell : undefined,
      onError: isScript ? undefined : 'Continue',
      commands: [
        ...(ofIgnition && begins ? ['set -e'] : []),
        ...(placeholder === undefined || !begins ? [] : [placeholderCommand(placeholder, file)]),
        ...whole(commands, isScript).map(({ command, at }) => withKubeadmFile(command, at, spec, file, conversion)),
      ],
    };
  };
  reportInstalls(spec, conversion.report);
  const early = convertEarly(spec, conversion);
  const beforeBootstrap = group(spec.beforeCommands, true);
  const afterBootstrap =
    group(spec.afterCommands, beforeBootstrap === undefined) ??
    // The trap of the script's end runs after kubeadm.
    (isScript && trapsExit(spec.beforeCommands) ? { commands: [':'] } : undefined);
  if (early === undefined && beforeBootstrap === undefined && afterBootstrap === undefined) return undefined;
  if (isScript) reportLost(spec, shell === 'bash', report);
  const singleScript = isScript && (beforeBootstrap !== undefined || afterBootstrap !== undefined) ? true : undefined;
  return { early, beforeBootstrap, afterBootstrap, singleScript };
}

/** Tells how the groups that are left differ from the commands of today: commands that became fields do not. */
export function reportHooks(hooks: Hooks | undefined, spec: Spec, { report }: Conversion): void {
  const isCloudConfig = spec.flavour === 'cloud-config';
  const [early] = spec.bootCommands;
  if (hooks?.early !== undefined && early !== undefined)
    report.add('HookContinues', early.at, 'the commands of this list');
  for (const [group, [first]] of [
    [hooks?.beforeBootstrap, spec.beforeCommands],
    [hooks?.afterBootstrap, spec.afterCommands],
  ] as const) {
    if (group === undefined || first === undefined) continue;
    report.add('HookTimeout', first.at, 'write timeout where they need more');
    if (isCloudConfig) report.add('HookContinues', first.at, 'the commands of this list');
  }
  const [after] = spec.afterCommands;
  if (hooks?.afterBootstrap !== undefined && after !== undefined && isCloudConfig) {
    report.add('AfterFailure', after.at, 'put commands that must always run into a separate systemd unit');
  }
}

function convertEarly(spec: Spec, conversion: Conversion): HookGroupSection | undefined {
  const { report } = conversion;
  const [first] = spec.bootCommands;
  if (first === undefined) return undefined;
  const once = spec.bootCommands.map(({ command }) => onceCommand(command));
  const allOnce = once.every((command) => command !== undefined);
  if (allOnce) report.add('CommandOnce', first.at, 'each command of this list');
  else report.add('EveryBoot', first.at, 'cloud-init-per is left in those that have it');
  const commands = allOnce ? once.flatMap((command) => command ?? []) : spec.bootCommands.map(({ command }) => command);
  const usesId = commands.some((command) => INSTANCE_ID.test(command));
  const id = conversion.expressions.mark('v1.instance_id');
  return {
    onError: 'Continue',
    commands: usesId ? [`export INSTANCE_ID='${id}'`, ...commands] : commands,
    frequency: allOnce ? 'Once' : 'Always',
  };
}

/** `cloud-init-per once NAME COMMAND…` as its command; `once` and `instance` are both once on a machine of Cluster API. */
function onceCommand(command: string): string | undefined {
  return /^\s*cloud-init-per\s+(?:once|instance)\s+[A-Za-z0-9._-]+\s+(\S[\s\S]*)$/.exec(command)?.[1];
}

/** Commands that edit kubeadm's file before it runs: the file has a different name here. */
function withKubeadmFile(
  command: string,
  at: CommandSpec['at'],
  spec: Spec,
  file: string,
  { report }: Conversion,
): string {
  if (spec.flavour !== 'ignition' || !command.includes(IGNITION_FILE)) return command;
  report.add('CommandMovedFile', at, file);
  return command.replaceAll(IGNITION_FILE, file);
}

function lint({ command, at }: CommandSpec, spec: Spec, { report }: Conversion): void {
  if (/(?:^|[\s;&|(])kubeadm\s+(?:init|join|reset)\b/.test(command)) {
    report.add('CommandRunsKubeadm', at, 'machineadm runs it, and must be the only one');
  }
  if (spec.flavour === 'cloud-config' && command.includes(IGNITION_FILE)) {
    report.add('CommandUsesKubeadmFile', at, `${INIT_FILE} or ${JOIN_FILE}`);
  }
  if (spec.flavour === 'ignition' && /\/run\/kubeadm\//.test(command) && !hasMark(command)) {
    report.add('CommandUsesKubeadmFile', at, 'today the command finds no such file; here it does');
  }
}
