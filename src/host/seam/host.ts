import type { Evidence } from '@machineadm/document/errors.ts';
import type { Secret, SecretValue } from '@machineadm/document/secret.ts';
import type { CriQueries } from '../cri/queries.ts';
import type { HttpClient } from '../http/client.ts';
import type { BootCommand, BootFile } from '../services/boot-command.ts';
import type { ServiceEnvironment } from '../services/environment.ts';
import type { UnitFacts } from '../services/unit-facts.ts';

/**
 * The machine, read-only: what `inspect` and the whole of `plan` get. It changes nothing by construction: it has no
 * method that writes, and `query` runs only the commands of a closed list (`queries.ts`).
 */
export interface QueryHost {
  /** The bytes of a file; undefined when it does not exist. Throws on any other error. */
  readFile(path: string): Promise<Uint8Array | undefined>;
  /** The same as UTF-8 text. */
  readText(path: string): Promise<string | undefined>;
  /**
   * At most `length` bytes from `position` on, fewer only at the end of the file: for files too large to hold, as image
   * archives are. Follows symlinks; undefined when the file does not exist.
   */
  readRange(path: string, position: number, length: number): Promise<Uint8Array | undefined>;
  /** lstat; undefined when nothing is there. */
  stat(path: string): Promise<FileStat | undefined>;
  /** What a symbolic link holds; undefined when there is none at the path. */
  readLink(path: string): Promise<string | undefined>;
  /** The place that a path names: links of its directories are followed as far as they exist, one at the path itself is not. */
  realPath(path: string): Promise<string>;
  /** Names in a directory, sorted; undefined when it does not exist. */
  list(path: string): Promise<readonly string[] | undefined>;
  /** Lower-case hex SHA-256 of a file, read in pieces; undefined when it does not exist. */
  sha256(path: string): Promise<string | undefined>;
  /** Absolute path of a program on the usual PATH of root, or undefined. */
  which(program: string): Promise<string | undefined>;
  /** Runs a query of the closed list; never throws on a non-zero exit status. 127: the program is not installed. */
  query(query: Query): Promise<CommandResult>;
  /** Numeric id of a user or group named or numbered in the document; undefined when it does not exist. */
  userId(user: string): Promise<number | undefined>;
  groupId(group: string): Promise<number | undefined>;
  service(name: string): Promise<ServiceState>;
  /**
   * Where a drop-in of a service belongs on this platform, for `writeFile` and `readText`: the directory may not exist
   * yet. undefined where the service manager knows no drop-ins.
   */
  dropInPath(service: string, file: string): string | undefined;
  /** How the service manager is told to run a command at every boot; undefined where there is none. */
  bootFile(command: BootCommand): BootFile | undefined;
  /**
   * How a service is given the variables of `file` at its next start. `name` is that of a drop-in, where there are such.
   */
  serviceEnvironment(service: string, name: string, file: string): ServiceEnvironment;
  /**
   * The value of a secret; undefined when finding it out has effects (`hasEffects`) and this machine may only be asked.
   * Throws `SecretUnavailable`.
   */
  secret(value: SecretValue): Promise<Secret | undefined>;
  /** The container runtime behind a `unix://` socket, asked over CRI. */
  cri(socket: string): CriQueries;
}

/** The machine, with the right to change it. Given to `apply` only. */
export interface Host extends QueryHost {
  /**
   * Puts a file in place: born in the same directory with its final owner and mode, filled, then renamed, so that no
   * reader ever sees half of it or a secret with too wide a mode. Parents are created. Durable after `sync`.
   */
  writeFile(file: NewFile | StreamedFile): Promise<void>;
  /** Puts a symbolic link in place of whatever file or link is there, by rename. Parents are created. */
  writeLink(path: string, target: string): Promise<void>;
  /** Removes a file; nothing happens when it is not there. */
  removeFile(path: string): Promise<void>;
  makeDirectory(path: string, mode: number): Promise<void>;
  chmod(path: string, mode: number): Promise<void>;
  /** Gives a file or directory to this user and group; a symbolic link is not followed. */
  chown(path: string, uid: number, gid: number): Promise<void>;
  /** Writes a kernel interface file (/proc/sys, /sys) in place. Throws the errno as it is. */
  writeKernelFile(path: string, value: string): Promise<void>;
  /** Flushes the file system that holds `path` to the disk. */
  sync(path: string): Promise<void>;
  /**
   * Runs a command to its end. Throws `HostStepFailed` only when it could not be started, or was aborted (then the
   * signal's own reason, where that is a `MachineadmError`). A timeout is told by `timedOut` and a status above 0.
   */
  run(command: Command): Promise<CommandResult>;
  /** The HTTP client of this run, with the proxy and the certificate authorities of the document. */
  http(): Promise<HttpClient>;
  /**
   * Has the container runtime behind a `unix://` socket pull an image over CRI, as the kubelet does, but without credentials
   * of a pod. Returns its id. Throws `CriError`.
   */
  pullImage(socket: string, reference: string, signal: AbortSignal): Promise<string>;
  /** Has the container runtime behind a `unix://` socket stop and remove all pods. Returns how many. Throws `CriError`. */
  removePods(socket: string, signal: AbortSignal): Promise<number>;
  /** The value of a secret, found out once a run, whatever that takes. Throws `SecretUnavailable`. */
  secret(value: SecretValue): Promise<Secret>;
  readonly services: ServiceManager;
}

export interface FileStat {
  readonly type: 'file' | 'directory' | 'symlink' | 'socket' | 'other';
  /** Permission bits only. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  /** Device, inode and time of the last change to the content: another one once it is written or replaced. */
  readonly fingerprint?: string;
}

export interface NewFile {
  readonly path: string;
  readonly content: Uint8Array | string;
  readonly mode: number;
  /** Numeric; default 0. */
  readonly uid?: number;
  readonly gid?: number;
  /** Mode of parents that must be created; default 0755. */
  readonly directoryMode?: number;
}

/** A file whose content is too large to hold. A stream that throws leaves what was there before in place. */
export interface StreamedFile extends Omit<NewFile, 'content'> {
  readonly content: AsyncIterable<Uint8Array>;
}

/** A program and arguments of the closed list of queries; `queries.ts` checks it at run time. */
export interface Query {
  readonly program: string;
  readonly args: readonly string[];
  /**
   * Standard input, handed over as an anonymous file (`linux/anonymous-file.ts`) and not as a pipe: what opens /dev/stdin
   * by name gets ENXIO from the socket pairs that Node's pipes are, and containerd 2.x seeks in it.
   */
  readonly input?: string;
  /** Default 30 s. */
  readonly timeoutMs?: number;
}

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  /** Written to standard input, which is then closed; default: closed at once. */
  readonly input?: string | AsyncIterable<Uint8Array>;
  /** Added to a clean environment (PATH, HOME, LANG). */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Called with each complete line, redacted, as it comes. */
  readonly onLine?: (stream: 'stdout' | 'stderr', line: string) => void;
  /** More descriptors to read lines from, by number ≥ 3. */
  readonly onDescriptorLine?: { readonly descriptor: number; readonly line: (line: string) => void };
  /**
   * True for a command that must not outlive this run (kubeadm, a hook): it is marked in its environment, and the next
   * run ends what a killed run left behind before it looks at the machine. When a signal of another sender kills it,
   * `run` throws `CommandKilled`: what it printed is no verdict then.
   */
  readonly supervised?: boolean;
}

export interface CommandResult {
  /** The exit status; 128 + signal when it was killed. */
  readonly status: number;
  /** The last 1 MiB of each stream. Not redacted: redact before it leaves the process. */
  readonly stdout: string;
  readonly stderr: string;
  /** True when it was killed for its timeout. */
  readonly timedOut: boolean;
  /** The kernel's counter, where it killed a process of a supervised command for want of memory; Linux only. */
  readonly outOfMemory?: Evidence;
}

export interface ServiceState {
  readonly exists: boolean;
  readonly active: boolean;
  readonly enabled: boolean;
  readonly masked: boolean;
  /** `failed`, `activating`, … as the service manager says it. */
  readonly detail: string;
  /** Main process, when it runs. */
  readonly pid: number | undefined;
  /** When its current process was started, milliseconds since the epoch; undefined when it does not run. */
  readonly startedAtMs: number | undefined;
  /** True where it can be neither enabled nor disabled: it has nothing to be enabled by (a static or generated unit). */
  readonly fixed?: boolean;
  /** True where its description on disk is newer than what the service manager has read of it. */
  readonly needsReload?: boolean;
  /** More of it, where systemd is the service manager. */
  readonly unit?: UnitFacts;
}

/**
 * systemd now; OpenRC and the Windows service manager have the same shape. Each throws `ServiceFailed`, and each is
 * satisfied by what is so already. Names are those of the document: without a suffix, a `.service`.
 */
export interface ServiceManager {
  reload(): Promise<void>;
  start(name: string): Promise<void>;
  stop(name: string): Promise<void>;
  restart(name: string): Promise<void>;
  enable(name: string): Promise<void>;
  /** No more started at boot; one that runs goes on running. */
  disable(name: string): Promise<void>;
  /** Can be started by nothing, not even by hand, until it is unmasked; one that runs goes on running. */
  mask(name: string): Promise<void>;
  unmask(name: string): Promise<void>;
  /** The last journal lines of a service, for evidence. */
  logs(name: string, lines: number): Promise<readonly string[]>;
}

/** A command of a killed run that continued without it, and was ended. */
export interface EndedOrphan {
  readonly pid: number;
  /** The name of the program, as the kernel has it. */
  readonly name: string;
  readonly runId: string;
}
