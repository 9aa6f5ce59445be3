import type { FileSection } from '@machineadm/document/host-parts/files.ts';
import type { HookGroupSection } from '@machineadm/document/host-parts/hooks.ts';
import type { ContainerRuntimeSection } from '@machineadm/document/sections/containerd/index.ts';
import type { KubernetesSection } from '@machineadm/document/sections/kubernetes/index.ts';
import { parseMode } from '@machineadm/document/text/units.ts';
import type { HostSection } from '@machineadm/document/versions/v1alpha1/host.ts';
import type { Conversion } from '../inputs/conversion.ts';
import { Report } from '../report/report.ts';
import { hasMark } from '../texts/jinja.ts';
import { yamlValue } from '../texts/yaml.ts';

/** The sections of a converted document that `--structure` changes. */
export interface Sections {
  readonly host: HostSection;
  readonly containerRuntime?: ContainerRuntimeSection | undefined;
  readonly kubernetes?: KubernetesSection | undefined;
}

/** A document during structuring: files and commands are removed, fields added. */
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
    // A conversion writes every command as text.
    this.#commands = (host.hooks?.beforeBootstrap?.commands ?? []).filter((command) => typeof command === 'string');
  }

  get files(): readonly FileSection[] {
    return this.#files;
  }

  /** Commands that run before kubeadm; the others do not prepare a host. */
  get commands(): readonly string[] {
    return this.#commands;
  }

  /**
   * The text of a file that is completely written, belongs to root and is known here; undefined for any other. A
   * private file is returned only if the replacing field is private, too: `isPrivate`.
   */
  textOf(file: FileSection, { isPrivate = false } = {}): string | undefined {
    const { contentFrom, owner, mode = '' } = file;
    if (file.append === true || file.encoding !== undefined || owner !== 'root:root') return undefined;
    if (!isPrivate && parseMode(mode) % 0o10 < 4) return undefined;
    const text =
      contentFrom === undefined
        ? file.content
        : 'secret' in contentFrom
          ? this.#conversion.secrets.valueOf(contentFrom.secret)
          : undefined;
    return text === undefined || hasMark(text) ? undefined : text;
  }

  /** The YAML of such a file, as Go parses it; undefined for invalid YAML and duplicate keys. */
  async yamlOf(file: FileSection): Promise<unknown> {
    const text = this.textOf(file, { isPrivate: true });
    const problems = new Report();
    const value = text === undefined ? undefined : await yamlValue(text, file.path, problems);
    return problems.decisions.length === 0 ? value : undefined;
  }

  /** Removes a file that `field` replaces. */
  takeFile(file: FileSection, field: string): void {
    this.#files = this.#files.filter((one) => one !== file);
    if (file.contentFrom !== undefined && 'secret' in file.contentFrom) {
      this.#conversion.secrets.drop(file.contentFrom.secret);
    }
    this.tell(`${file.path} (mode ${file.mode}) is ${field}`);
  }

  /** Removes the commands that a pattern matches completely. */
  takeCommands(pattern: RegExp, field: string): readonly RegExpExecArray[] {
    const found: RegExpExecArray[] = [];
    this.#commands = this.#commands.filter((command) => {
      if (command.length > LONGEST_COMMAND) return true;
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

  /** The sections with the remaining files and commands. */
  sections(): Sections {
    const { hooks } = this.host;
    const before = hooks?.beforeBootstrap;
    const group: HookGroupSection | undefined =
      before === undefined || this.#commands.length === 0 ? undefined : { ...before, commands: [...this.#commands] };
    const singleScript = group === undefined && hooks?.afterBootstrap === undefined ? undefined : hooks?.singleScript;
    const left = hooks === undefined ? undefined : { ...hooks, beforeBootstrap: group, singleScript };
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

/** What `--structure` takes away is short; a pattern may take more than linear time. */
const LONGEST_COMMAND = 1000;

/** A command may contain a secret after its first words. */
function firstWords(command: string): string {
  return command.trim().split(/\s+/).slice(0, 2).join(' ');
}
