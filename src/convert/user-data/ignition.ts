import type { Expressions } from '../jinja.ts';
import type { Report } from '../report.ts';
import { fromBase64, textOf } from '../secrets.ts';
import { Source } from '../source.ts';
import type { CommandSpec, FileSpec, Spec, UserSpec } from '../spec.ts';
import { readContainerLinux } from './container-linux.ts';
import { findSubstitution, markEnvironment } from './environment.ts';
import { kubeadmRun, readKubeadmPart, splitCommands } from './kubeadm-run.ts';

/** cluster-api bootstrap/kubeadm/pkg/ignition/clc/clc.go: what the template writes beside the user's own. */
const SCRIPT = '/etc/kubeadm.sh';
const CONFIGURATION = '/etc/kubeadm.yml';
const NTP = '/etc/ntp.conf';
const SSHD = '/etc/ssh/sshd_config';

export function isIgnition(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'ignition' in value;
}

/** The Ignition 2.3 config that the kubeadm bootstrap provider makes. */
export async function readIgnition(
  value: unknown,
  object: string,
  expressions: Expressions,
  report: Report,
): Promise<Spec | undefined> {
  const config = Source.of(value, object, report);
  const version = config.get('ignition', 'version').text() ?? '';
  if (!/^2\.[0-3]\.0$/.test(version)) {
    report.add(
      'InputInvalid',
      config.get('ignition', 'version'),
      'expected Ignition 2.0 to 2.3, which the provider writes',
    );
    return undefined;
  }
  for (const part of ['version', 'config', 'timeouts', 'security']) {
    const source = config.get('ignition', part);
    if (Object.keys(Object(source.whole())).length > 0 && part !== 'version') {
      report.add('ContainerLinuxConfigDropped', source, `ignition.${part}`);
    }
  }
  const parts = readContainerLinux(config, report);
  const texts = parts.files.map(asText);
  const script = texts.find(({ path }) => path === SCRIPT);
  const lines = script === undefined ? [] : scriptCommands(script);
  const split = splitCommands(lines);
  if (split === undefined) report.add('UserDataWithoutKubeadm', object, `${SCRIPT} does not run kubeadm init or join`);
  const substitution = findSubstitution(split?.before ?? lines, parts.environmentFiles, report);
  const marked = texts.map((file) =>
    file.path === CONFIGURATION && substitution.file !== undefined
      ? { ...file, content: String(markEnvironment(file.content, substitution.file, expressions)) }
      : file,
  );
  const kubeadm = await readKubeadmPart(marked, split?.run, object, report);
  const ntp = marked.find(({ path }) => path === NTP);
  const servers = [...(ntp?.content ?? '').matchAll(/^\s*server\s+(\S+)/gm)].map(([, server = '']) => server);
  if (marked.some(({ path }) => path === SSHD)) {
    report.add('PasswordLogin', object, 'the sshd_config of the provider is left out');
  }
  return {
    ...kubeadm,
    flavour: 'ignition',
    resolved: true,
    files: kubeadm.files.filter(
      ({ path }) => ![SCRIPT, SSHD, NTP].includes(path) && !isSudoers(path, parts.users) && !isMountUnit(path),
    ),
    users: parts.users.map((user) => withSudo(user, marked)),
    groups: parts.groups,
    time: ntp === undefined ? undefined : { enabled: true, servers, at: ntp.at },
    disks: parts.disks,
    filesystems: parts.filesystems,
    mounts: mountsOf(parts.files),
    bootCommands: [],
    beforeCommands: substitution.commands,
    afterCommands: (split?.after ?? []).filter(
      ({ command }) => !/^\s*(?:mkdir -p \/run\/cluster-api|mv \/etc\/kubeadm\.yml \/tmp\/)/.test(command),
    ),
    services: parts.services.filter(({ name }) => !/^ntpd?\.service$/.test(name) && !name.endsWith('.mount')),
  };
}

/** The base64 of a data URL as the text that it is, where it is one. */
function asText(file: FileSpec): FileSpec {
  if (file.encoding !== 'base64') return file;
  const bytes = fromBase64(file.content);
  const text = bytes === undefined ? undefined : textOf(bytes);
  return text === undefined ? file : { ...file, content: text, encoding: undefined };
}

/** The lines of the script as commands; from the first on that is not whole by itself, what is left up to kubeadm is one. */
function scriptCommands({ content, at }: FileSpec): readonly CommandSpec[] {
  const lines = content
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#!') && line.trim() !== 'set -e');
  const run = lines.findIndex((line) => kubeadmRun(line) !== undefined);
  const compound =
    /\\$|<<|^\s*(?:if|for|while|until|case|function|do|done|then|else|elif|fi|esac|\{|\}|select)\b|[({]\s*$|^\s*[)}]/;
  const commands = (part: readonly string[]): CommandSpec[] => {
    const first = part.findIndex((line) => compound.test(line) || !quotesClose(line));
    const plain = first === -1 ? part : part.slice(0, first);
    const rest = first === -1 ? [] : [part.slice(first).join('\n')];
    return [...plain, ...rest].map((command) => ({ command, at }));
  };
  if (run === -1) return commands(lines);
  return [...commands(lines.slice(0, run)), { command: lines[run] ?? '', at }, ...commands(lines.slice(run + 1))];
}

function quotesClose(line: string): boolean {
  return (line.match(/'/g) ?? []).length % 2 === 0 && (line.match(/(?<!\\)"/g) ?? []).length % 2 === 0;
}

function isSudoers(path: string, users: readonly UserSpec[]): boolean {
  return users.some(({ name }) => path === `/etc/sudoers.d/${name}`);
}

function isMountUnit(path: string): boolean {
  return /^\/etc\/systemd\/system\/[^/]+\.mount$/.test(path);
}

/** `/etc/sudoers.d/NAME` holds `NAME RULE`. */
function withSudo(user: UserSpec, files: readonly FileSpec[]): UserSpec {
  const rules = files.find(({ path }) => path === `/etc/sudoers.d/${user.name}`)?.content.split('\n') ?? [];
  const sudo = rules.flatMap((line) =>
    line.startsWith(`${user.name} `) ? [line.slice(user.name.length + 1).trim()] : [],
  );
  return { ...user, sudo };
}

/** The mount units that the provider writes: What= and Where=, the name is not always what systemd wants. */
function mountsOf(files: readonly FileSpec[]): Spec['mounts'] {
  return files.flatMap(({ path, content, at }) => {
    if (!isMountUnit(path)) return [];
    const value = (key: string): string => new RegExp(`^${key}=(.*)$`, 'm').exec(content)?.[1]?.trim() ?? '';
    const columns = [value('What'), value('Where'), value('Type') === '' ? 'auto' : value('Type'), value('Options')];
    return value('What') === '' || value('Where') === '' ? [] : [{ columns, at }];
  });
}
