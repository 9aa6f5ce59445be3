import type { Report } from '../report/report.ts';
import { baseName, programOf } from '../shell/programs.ts';
import { commandsIn, ShellScanner, type SimpleCommand } from '../shell/scanner.ts';
import type { CommandSpec, Spec } from '../spec/spec.ts';

/** Whether a command sets a trap for the end of the shell. */
export function trapsExit(commands: readonly CommandSpec[]): boolean {
  return commands.some(({ command }) =>
    commandsIn(command).some((one) => {
      const program = programOf(one);
      return program?.name === 'trap' && program.args.some(({ text }) => text === 'EXIT' || text === '0');
    }),
  );
}

/** Reports what the shell of the commands has, and kubeadm or the commands after it would have in the provider's script. */
export function reportLost({ beforeCommands, afterCommands }: Spec, isBash: boolean, report: Report): void {
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
export function reportInstalls({ files, beforeCommands }: Spec, report: Report): void {
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
