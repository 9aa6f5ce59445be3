import type { FileSection } from '@machineadm/document/host-parts/files.ts';
import type { HookGroupSection } from '@machineadm/document/host-parts/hooks.ts';
import type { HostSection } from '@machineadm/document/versions/v1alpha1/host.ts';
import type { KubernetesSection } from '@machineadm/document/versions/v1alpha1/kubernetes.ts';
import type { ContainerRuntimeSection } from '@machineadm/document/versions/v1alpha1/runtime.ts';
import type { Conversion } from '../conversion.ts';
import { hasMark } from '../jinja.ts';
import { Report } from '../report.ts';
import { yamlValue } from '../yaml.ts';

/** The sections of a converted document that `--structure` changes. */
export interface Sections {
  readonly host: HostSection;
  readonly containerRuntime?: ContainerRuntimeSection | undefined;
  readonly kubernetes?: KubernetesSection | undefined;
}

/** A document in the course of being structured: files and commands are taken out, fields put in. */
export class Lifting {
  host: HostSection;
  containerd: NonNullable<ContainerRuntimeSection['containerd']> | undefined;
  kubernetes: KubernetesSection | undefined;
  readonly #conversion: Conversion;
  #files: readonly FileSection[];
  #commands: readonly string[];

  constructor({ host, kubernetes }: Sections, conversion: Conversion) {
    this.host = host;
    this.kubernetes = kubernetes;
    this.#conversion = conversion;
    this.#files = host.files ?? [];
    this.#commands = host.hooks?.beforeBootstrap?.commands ?? [];
  }

  get files(): readonly FileSection[] {
    return this.#files;
  }

  /** Commands that run before kubeadm; of the others none prepares a host. */
  get commands(): readonly string[] {
    return this.#commands;
  }

  /**
   * The text of a file that is written whole, belongs to root and is known here; undefined for any other. One that only its
   * owner may read is given where the field that takes its place keeps it so: `isPrivate`.
   */
  textOf(file: FileSection, { isPrivate = false } = {}): string | undefined {
    const { contentFrom, owner, mode = '' } = file;
    if (file.append === true || file.encoding !== undefined || owner !== 'root:root') return undefined;
    if (!isPrivate && Number.parseInt(mode, 8) % 0o10 < 4) return undefined;
    const text =
      contentFrom === undefined
        ? file.content
        : 'secret' in contentFrom
          ? this.#conversion.secrets.valueOf(contentFrom.secret)
          : undefined;
    return text === undefined || hasMark(text) ? undefined : text;
  }

  /** What the YAML of such a file says, as Go reads it; undefined for what is not YAML, or has a key twice. */
  async yamlOf(file: FileSection): Promise<unknown> {
    const text = this.textOf(file, { isPrivate: true });
    const problems = new Report();
    const value = text === undefined ? undefined : await yamlValue(text, file.path, problems);
    return problems.decisions.length === 0 ? value : undefined;
  }

  /** Takes a file out, as `field` says the same. */
  takeFile(file: FileSection, field: string): void {
    this.#files = this.#files.filter((one) => one !== file);
    if (file.contentFrom !== undefined && 'secret' in file.contentFrom) {
      this.#conversion.secrets.drop(file.contentFrom.secret);
    }
    this.tell(`${file.path} (mode ${file.mode}) is ${field}`);
  }

  /** Takes out the commands that a pattern matches as a whole. */
  takeCommands(pattern: RegExp, field: string): readonly RegExpExecArray[] {
    const found: RegExpExecArray[] = [];
    this.#commands = this.#commands.filter((command) => {
      const match = pattern.exec(command.trim());
      if (match === null) return true;
      found.push(match);
      this.tell(`a command (${firstWords(command)}) is ${field}`);
      return false;
    });
    return found;
  }

  tell(message: string): void {
    this.#conversion.report.add('Structured', this.#conversion.object, message);
  }

  /** The sections with what is left of files and commands. */
  sections(): Sections {
    const { hooks } = this.host;
    const before = hooks?.beforeBootstrap;
    const group: HookGroupSection | undefined =
      before === undefined || this.#commands.length === 0 ? undefined : { ...before, commands: [...this.#commands] };
    const left = hooks === undefined ? undefined : { ...hooks, beforeBootstrap: group };
    return {
      host: {
        ...this.host,
        files: this.#files.length === 0 ? undefined : [...this.#files],
        hooks: left === undefined || Object.values(left).every((one) => one === undefined) ? undefined : left,
      },
      containerRuntime: this.containerd === undefined ? undefined : { containerd: this.containerd },
      kubernetes: this.kubernetes,
    };
  }
}

/** A command may hold a secret behind its first words. */
function firstWords(command: string): string {
  return command.trim().split(/\s+/).slice(0, 2).join(' ');
}
