import type { HookGroupSection } from '@machineadm/document/host-parts/hooks.ts';
import type { HostSection } from '@machineadm/document/versions/v1alpha1/host.ts';
import type { Conversion } from '../inputs/conversion.ts';
import { placeholderCommand, placeholderName } from '../kubernetes/placeholder.ts';
import type { Placed, Report } from '../report/report.ts';
import { baseName, programOf } from '../shell/programs.ts';
import { commandsIn, ShellScanner, type SimpleCommand } from '../shell/scanner.ts';
import type { CommandSpec, Spec } from '../spec/spec.ts';
import { hasMark } from '../texts/jinja.ts';
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

/** Whether a command sets a trap for the end of the shell. */
function trapsExit(commands: readonly CommandSpec[]): boolean {
  return commands.some(({ command }) =>
    commandsIn(command).some((one) => {
      const program = programOf(one);
      return program?.name === 'trap' && program.args.some(({ text }) => text === 'EXIT' || text === '0');
    }),
  );
}

/** Reports what the shell of the commands has, and kubeadm or the commands after it would have in the provider's script. */
function reportLost({ beforeCommands, afterCommands }: Spec, isBash: boolean, report: Report): void {
  const callers = isBash ? new Map<string, CommandSpec>() : namesIn(afterCommands);
  for (const { command, at } of beforeCommands) {
    const scanner = new ShellScanner();
    scanner.feed(command);
    for (const what of new Set(scanner.end().flatMap((one) => unsaved(one) ?? [])))
      report.add('ShellStateLost', at, what);
    for (const name of scanner.functions) {
      const caller = callers.get(name);
      if (caller === undefined) continue;
      report.add('ShellFunctionLost', caller.at, `${name}: define it again in the commands after kubeadm`);
    }
  }
}

/** The first command that has a name, by name. */
function namesIn(commands: readonly CommandSpec[]): Map<string, CommandSpec> {
  const found = new Map<string, CommandSpec>();
  for (const command of commands) {
    for (const name of command.command.split(/[^\w.-]/)) if (!found.has(name)) found.set(name, command);
  }
  return found;
}

/** What ends with a shell whatever is saved of it. */
function unsaved(command: SimpleCommand): string | undefined {
  const [first, second] = command.words;
  const isRedirection = second === undefined || /^\{\w{1,200}\}$/.test(second.text);
  if (first?.text === 'exec' && isRedirection && command.redirections.length > 0)
    return 'a redirection of the whole shell';
  if (first?.text === 'ulimit' && second?.text.startsWith('-') === true) return 'a limit of the shell';
  return first?.text === 'pushd' ? 'the stack of directories' : undefined;
}

const PACKAGE_MANAGERS = new Set(['apt-get', 'apt', 'yum', 'dnf', 'zypper', 'tdnf', 'snap', 'microdnf']);
const DOWNLOADERS = new Set(['curl', 'wget', 'az', 'gsutil', 'aws', 'ctr']);
const PACKAGES = /\b(?:kubelet|kubeadm|kubectl|containerd|cri-o)\b/;
const PROGRAMS = /\b(?:kubelet|kubeadm|kubectl|kube-(?:apiserver|proxy))\b/;
/** Places of packages, downloads and system extensions of Kubernetes and of the runtime. */
const PLACES =
  /\b(?:dl\.k8s\.io|pkgs\.k8s\.io|packages\.cloud\.google\.com\/apt|kubernetes-release|storage\.googleapis\.com\/k8s-)|\bgithub\.com\/containerd\/containerd\/releases\b|\/kubernetes-v?[^/\s]{0,200}\.raw\b/;

/** Reports commands and scripts that install Kubernetes or the runtime. */
function reportInstalls({ files, beforeCommands }: Spec, report: Report): void {
  for (const { text, at } of [
    ...files.map(({ content, at }) => ({ text: content, at })),
    ...beforeCommands.map(({ command, at }) => ({ text: command, at })),
  ]) {
    if (PLACES.test(text) || (mayInstall(text) && commandsIn(text).some(installs)))
      report.add('InstallsKubernetes', at, 'better in the image: a run can check it before any change then');
  }
}

/** Most texts are spared the work. */
function mayInstall(text: string): boolean {
  return PACKAGES.test(text) || PROGRAMS.test(text);
}

function installs(command: SimpleCommand): boolean {
  const program = programOf(command);
  if (program === undefined) return false;
  const words = program.args.map(({ text }) => text);
  if (PACKAGE_MANAGERS.has(program.name)) {
    const verb = words.findIndex((word) => word === 'install' || word === 'localinstall' || word === 'reinstall');
    return verb >= 0 && words.slice(verb + 1).some((word) => PACKAGES.test(baseName(word)));
  }
  return DOWNLOADERS.has(program.name) && words.some((word) => PROGRAMS.test(word));
}

interface ProviderFile {
  readonly named: RegExp;
  readonly differs: (kubeadmFile: string) => string;
}

const USER_DATA = 'the user data of the machine is the document of machineadm, or is not of cloud-init';

/** What the provider and cloud-init make on a machine, with what a text that reads it finds there now. */
const FILES: readonly ProviderFile[] = [
  {
    named: /\/tmp\/kubeadm(?:-[a-z-]{1,40})?\.ya?ml\b/,
    differs: (file) => `only old providers wrote it to /tmp; it is ${file}`,
  },
  {
    named: /\/etc\/kubeadm\.sh\b/,
    differs: () => 'machineadm makes no script: the commands are hooks of the document',
  },
  {
    // cloudinit/helpers.py, Paths.lookups
    named:
      /\/var\/lib\/cloud\/(?:instance|instances\/[^/\s]{1,100})\/(?:user-data|vendor-data|cloud-config|scripts|handlers)/,
    differs: () => USER_DATA,
  },
  {
    named: /\bcloud-init query(?: -[\w-]{1,20}){0,4} (?:-u|--user-data|userdata|vendordata|--vendor-data|-v)\b/,
    differs: () => USER_DATA,
  },
  {
    named:
      /\/run\/cloud-init\/(?:combined-)?(?:instance-data|cloud-config|result|status)|\/var\/lib\/cloud\/(?:instance\/(?:boot-finished|obj\.pkl|datasource)|data\/)/,
    differs: () => 'it exists only where cloud-init starts machineadm, and its user data is the document',
  },
  {
    named: /\/var\/log\/cloud-init-output\.log\b/,
    differs: () => 'the output of kubeadm and of commands is in the log of machineadm',
  },
];

/** Reports commands and files that name files or data which the provider or cloud-init makes, and machineadm does not. */
function reportProviderFiles(spec: Spec, kubeadmFile: string, report: Report): void {
  const tell = (text: string, at: Placed): void => {
    for (const { named, differs } of FILES) {
      const found = named.exec(text)?.[0];
      if (found !== undefined) report.add('ProviderFileNamed', at, `${found}: ${differs(kubeadmFile)}`);
    }
  };
  for (const { command, at } of [...spec.bootCommands, ...spec.beforeCommands, ...spec.afterCommands])
    tell(command, at);
  for (const { content, encoding, at } of spec.files) {
    if (encoding !== undefined && encoding !== '' && encoding !== 'text/plain') continue;
    tell(content, at);
    // In commands the name of the file is corrected, or reported on its own.
    if (/\/etc\/kubeadm\.yml\b/.test(content))
      report.add('ProviderFileNamed', at, `/etc/kubeadm.yml: it is ${kubeadmFile}`);
  }
}
