import { utf8Text } from '@machineadm/document/encodings/decode.ts';
import { DEFAULT_SENTINEL } from '@machineadm/document/ownership/paths.ts';
import { trimmedEnd } from '@machineadm/document/text/trim.ts';
import { fromBase64 } from '../inputs/secrets.ts';
import type { Dropped } from '../report/dropped.ts';
import type { Report } from '../report/report.ts';
import type { DirectSection } from '../spec/direct.ts';
import type { CommandSpec, FileSpec, MountSpec, ServiceSpec, Spec, TimeSpec, UserSpec } from '../spec/spec.ts';
import { Source } from '../values/source.ts';
import { CONTAINER_LINUX, type ContainerLinuxParts, readContainerLinux } from './container-linux.ts';
import { IGNITION_3, readIgnition3, SCRIPT } from './ignition3.ts';
import { readKubeadmPart, splitCommands } from './kubeadm-run.ts';
import { dependenciesCommand } from './unit-dependencies.ts';
import { otherSettings, unitSettings } from './unit-file.ts';

/** cluster-api bootstrap/kubeadm/pkg/ignition/clc/clc.go: what the template writes beside the user's own. */
const NTP = '/etc/ntp.conf';
const SSHD = '/etc/ssh/sshd_config';

export function isIgnition(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'ignition' in value;
}

/** The Ignition 2.3 config of the kubeadm bootstrap provider, or one of version 3 that somebody wrote. */
export async function readIgnition(value: unknown, object: string, report: Report): Promise<Spec | undefined> {
  const config = Source.of(value, object, report, { ...CONTAINER_LINUX, emptyIsAbsent: true });
  const version = config.get('ignition', 'version').text() ?? '';
  if (!/^2\.[0-3]\.0$/.test(version) && !IGNITION_3.test(version)) {
    report.add('InputInvalid', config.get('ignition', 'version'), 'expected Ignition 2.0 to 2.3, or 3.0 to 3.6');
    return undefined;
  }
  config.get('ignition', 'version').drop('IgnitionVersion');
  const parts: ContainerLinuxParts & { readonly direct?: DirectSection } = IGNITION_3.test(version)
    ? await readIgnition3(config, report)
    : readContainerLinux(config, report);
  const texts = parts.files.map(asText);
  const script = texts.find(({ path }) => path === SCRIPT);
  const lines = script === undefined ? [] : scriptCommands(script);
  const others = texts.filter((file) => file !== script);
  const split = await splitCommands(lines, [], others, object, report);
  const kubeadm = await readKubeadmPart(texts, split.run, object, report);
  const lifted = [
    ...(script === undefined ? [] : [lift(script, 'UnitReplaced')]),
    ...liftSshd(texts, report),
    ...parts.users.flatMap((user) => liftSudoers(user, texts)),
    ...liftTime(texts, parts.services),
    ...liftMounts(texts, parts.services, report),
  ];
  const files = new Set(lifted.flatMap((one) => one.files ?? []));
  const services = new Set(lifted.flatMap((one) => one.services ?? []));
  const after = afterCommands(split.after);
  return {
    ...kubeadm,
    sentinel: split.run?.sentinel ?? after.sentinel,
    flavour: 'ignition',
    resolved: true,
    files: kubeadm.files.filter((file) => !files.has(file)),
    users: parts.users.map((user) => ({
      ...user,
      sudo: lifted.find(({ user: name }) => name === user.name)?.sudo ?? [],
    })),
    groups: parts.groups,
    time: lifted.flatMap((one) => one.time ?? [])[0],
    disks: parts.disks,
    filesystems: parts.filesystems,
    mounts: lifted.flatMap((one) => one.mounts ?? []),
    bootCommands: [],
    beforeCommands: [...dependenciesCommand(parts.dependencies), ...split.before],
    afterCommands: after.commands,
    services: parts.services.filter((service) => !services.has(service)),
    direct: parts.direct,
  };
}

/** The results of the provider's files and units, and the indices of those they replace. */
interface Lifted {
  readonly files?: readonly FileSpec[];
  readonly services?: readonly ServiceSpec[];
  readonly user?: string;
  readonly sudo?: readonly string[];
  readonly time?: TimeSpec;
  readonly mounts?: readonly MountSpec[];
}

/** Removes a completely known file; its replacement has its own owner and mode. */
function lift(file: FileSpec, reason: Dropped, becomes: Lifted = {}): Lifted {
  for (const part of file.rights) part.drop(reason);
  return { ...becomes, files: [file] };
}

/** The lines of a file without comments and blanks; undefined where root does not own it, or it is not text. */
function linesOf(file: FileSpec | undefined): readonly string[] | undefined {
  if (file === undefined || file.owner !== 'root:root' || file.encoding !== undefined || file.append) return undefined;
  return file.content
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
}

/** The provider's commands after kubeadm: they write the sentinel, and remove kubeadm's file. */
function afterCommands(commands: readonly CommandSpec[]): {
  readonly commands: readonly CommandSpec[];
  readonly sentinel: string | undefined;
} {
  const writes = /^\s*mkdir -p \/run\/cluster-api && echo success > (\S+)\s*$/;
  const sentinel = commands.map(({ command }) => writes.exec(command)?.[1]).find((path) => path !== undefined);
  return {
    commands: commands.filter(
      ({ command }) => !writes.test(command) && !/^\s*mv \/etc\/kubeadm\.yml \/tmp\/\s*$/.test(command),
    ),
    sentinel: sentinel === DEFAULT_SENTINEL ? undefined : sentinel,
  };
}

/** clc.go: the whole sshd_config, for users that log in with a password. */
const SSHD_LINES =
  /^(?:Subsystem sftp internal-sftp|ClientAliveInterval 180|UseDNS no|UsePAM yes|PrintLastLog no.*|PrintMotd no.*|Match User \S+|PasswordAuthentication yes)$/;

function liftSshd(files: readonly FileSpec[], report: Report): readonly Lifted[] {
  const file = files.find(({ path }) => path === SSHD);
  if (file === undefined || linesOf(file)?.every((line) => SSHD_LINES.test(line)) !== true) return [];
  report.add('PasswordLogin', file.at, 'the sshd_config of the provider is left out');
  return [lift(file, 'UnitReplaced')];
}

/** `/etc/sudoers.d/NAME` holds `NAME RULE`. */
function liftSudoers({ name }: UserSpec, files: readonly FileSpec[]): readonly Lifted[] {
  const file = files.find(({ path }) => path === `/etc/sudoers.d/${name}`);
  const lines = linesOf(file);
  if (file === undefined || lines?.every((line) => line.startsWith(`${name} `)) !== true) return [];
  return [lift(file, 'SudoersFile', { user: name, sudo: lines.map((line) => line.slice(name.length + 1).trim()) })];
}

/** clc.go: what its ntp.conf says beside the servers. */
const NTP_FLAGS = new Set(['nomodify', 'nopeer', 'noquery', 'notrap', 'limited', 'kod']);

function isNtpDefault(line: string): boolean {
  const [first, address, ...flags] = line.split(' ');
  if (first !== 'restrict') return false;
  if (address === 'default') return flags.every((flag) => NTP_FLAGS.has(flag));
  return flags.length === 0 && (address === '127.0.0.1' || address === '[::1]');
}

function liftTime(files: readonly FileSpec[], services: readonly ServiceSpec[]): readonly Lifted[] {
  const service = services.find(({ name }) => /^ntpd?\.service$/.test(name));
  const file = files.find(({ path }) => path === NTP);
  const lines = linesOf(file);
  const servers = lines?.flatMap((line) => /^server (\S+)$/.exec(line)?.[1] ?? []) ?? [];
  const others = (lines ?? []).filter((line) => !/^server \S+$/.test(line) && !isNtpDefault(line));
  if (others.length > 0 || (file !== undefined && lines === undefined)) return [];
  const isPlain = service === undefined || isStarted(service);
  const at = file?.at ?? service?.at;
  if (at === undefined || !isPlain) return [];
  const becomes = { services: service === undefined ? [] : [service], time: { enabled: true, servers, at } };
  return [file === undefined ? becomes : lift(file, 'TimeService', becomes)];
}

/** Enabled, without other settings. */
function isStarted({ enabled, masked, dropIns }: ServiceSpec): boolean {
  return enabled === true && masked !== true && dropIns.length === 0;
}

/** clc.go, and the defaults of mount units. */
const OF_MOUNT = new Set([
  '[Unit] Description',
  '[Unit] Before=local-fs.target',
  // What fstab asks systemd for by itself.
  '[Unit] RequiresMountsFor',
  '[Unit] Before=containerd.service',
  '[Unit] Before=kubelet.service',
  '[Unit] After=network-online.target',
  '[Unit] Wants=network-online.target',
  '[Install] WantedBy=remote-fs.target',
  '[Mount] What',
  '[Mount] Where',
  '[Mount] Type',
  '[Mount] Options',
  '[Install] WantedBy=multi-user.target',
  '[Install] WantedBy=local-fs.target',
  '[Install] RequiredBy=local-fs.target',
]);

/** Mount units become mounts if all their settings are known; others stay units, which systemd mounts. */
function liftMounts(files: readonly FileSpec[], services: readonly ServiceSpec[], report: Report): readonly Lifted[] {
  return files.flatMap((file) => {
    const name = /^\/etc\/systemd\/system\/([^/]+\.mount)$/.exec(file.path)?.[1];
    if (name === undefined) return [];
    const service = services.find((one) => one.name === name);
    const settings = unitSettings(file.content);
    const values = (key: string): readonly string[] =>
      settings.flatMap((one) => (one.section === 'Mount' && one.key === key ? [one.value] : []));
    const columns = ['What', 'Where', 'Type', 'Options'].map(values);
    // As Butane writes it: the check of the file system.
    const own = settings.filter(({ value }) => !value.startsWith('systemd-fsck@'));
    const others = otherSettings(own, OF_MOUNT);
    const isOnce = columns.every(({ length }, index) => length === 1 || (index > 1 && length === 0));
    if (others.length > 0 || !isOnce || service === undefined || !isStarted(service)) {
      const why = others.length > 0 ? others.join(', ') : 'it is not simply one mount that is enabled';
      report.add('MountUnitKept', file.at, `${name}: ${why}`);
      return [];
    }
    const [[what = ''] = [], [where = ''] = [], [type = ''] = [], [options = ''] = []] = columns;
    const mount = { columns: [what, where, type === '' ? 'auto' : type, options], at: file.at };
    return [lift(file, 'MountUnit', { services: [service], mounts: [mount] })];
  });
}

/** The text of a base64 data URL, if it is text. */
function asText(file: FileSpec): FileSpec {
  if (file.encoding !== 'base64') return file;
  const bytes = fromBase64(file.content);
  const text = bytes === undefined ? undefined : utf8Text(bytes);
  return text === undefined ? file : { ...file, content: text, encoding: undefined };
}

/** The lines of the script as commands, without its head. What is a command only together is joined later. */
function scriptCommands({ content, at }: FileSpec): readonly CommandSpec[] {
  const body = trimmedEnd(content.replace(/^(?:#![^\n]*\n)?\s*(?:set -e\n)?/, ''), '\n');
  return body.split('\n').map((command) => ({ command, at }));
}
