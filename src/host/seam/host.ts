import type { Evidence } from '@machineadm/document/outcomes/errors.ts';
import type { Secret, SecretValue } from '@machineadm/document/secrets/secret.ts';
import type { CriQueries } from '../cri/queries.ts';
import type { InterfaceAddress } from './facts.ts';
import type { HttpClient } from './http.ts';
import type { Resource } from './resource.ts';
import type { BootCommand, BootFile, ServiceEnvironment, UnitFacts } from './services.ts';

/**
 * The machine, read-only: passed to `inspect` and the whole of `plan`. It cannot change anything: it has no method that
 * writes, and `query` runs only the commands of an allowlist (`queries.ts`).
 */
export interface QueryHost {
  /** Aborted when the run ends: work in this process that may take long stops then. Absent: the command ends at a signal. */
  readonly signal?: AbortSignal | undefined;
  /** Why nothing is sealed on this host (`secrets/sealed-files.ts`). */
  readonly keepsPlain?: string;
  /** The bytes of a file; undefined when it does not exist. Throws for any other error. */
  readFile(path: string): Promise<Uint8Array | undefined>;
  /** The same as UTF-8 text. */
  readText(path: string): Promise<string | undefined>;
  /**
   * At most `length` bytes from `position` on, fewer only at the end of the file: for files that are too large for
   * memory, such as image archives. Follows symbolic links; undefined when the file does not exist.
   */
  readRange(path: string, position: number, length: number): Promise<Uint8Array | undefined>;
  /** Opens a regular file for reading; follows symbolic links. The caller closes it. undefined when it does not exist. */
  openFile(path: string): Promise<OpenFile | undefined>;
  /** lstat; undefined when the path does not exist. */
  stat(path: string): Promise<FileStat | undefined>;
  /** The target of a symbolic link; undefined when the path is not one. */
  readLink(path: string): Promise<string | undefined>;
  /** The real location of a path: links of its existing directories are resolved, one at the path itself is not. */
  realPath(path: string): Promise<string>;
  /** Names in a directory, sorted; undefined when it does not exist. */
  list(path: string): Promise<readonly string[] | undefined>;
  /** Lower-case hex SHA-256 of a file, read in pieces; undefined when it does not exist. */
  sha256(path: string): Promise<string | undefined>;
  /** The addresses of the interfaces that are up. */
  addresses(): Promise<readonly InterfaceAddress[]>;
  /** Absolute path of a program on the usual PATH of root, or undefined. */
  which(program: string): Promise<string | undefined>;
  /** Runs a query of the allowlist; never throws for a non-zero exit status. 127: the program is not installed. */
  query(query: Query): Promise<CommandResult>;
  /** Numeric id of a user or group, by name or number; undefined when it does not exist. */
  userId(user: string): Promise<number | undefined>;
  groupId(group: string): Promise<number | undefined>;
  service(name: string): Promise<ServiceState>;
  /**
   * The path of a service's drop-in on this platform, for `writeFile` and `readText`: its directory may not exist yet.
   * undefined where the service manager has no drop-ins.
   */
  dropInPath(service: string, file: string): string | undefined;
  /** How the service manager starts a command at every boot; undefined where it cannot. */
  bootFile(command: BootCommand): BootFile | undefined;
  /**
   * How a service gets the variables of `file` at its next start. `name` is the name of the drop-in, where the service
   * manager has drop-ins.
   */
  serviceEnvironment(service: string, name: string, file: string): ServiceEnvironment;
  /**
   * The value of a secret; undefined when resolving it has side effects (`hasEffects`), which a read-only host must not
   * cause. Throws `SecretUnavailable`.
   */
  secret(value: SecretValue): Promise<Secret | undefined>;
  /** The container runtime at a `unix://` socket, over CRI. */
  cri(socket: string): CriQueries;
}

/** The machine, with the right to change it. Passed to `apply` only. */
export interface Host extends QueryHost {
  /**
   * Writes a file: created in the same directory with its final owner and mode, filled, then renamed, so that readers
   * never see a partial file or a secret with too wide a mode. Creates parents. Durable after `sync`.
   */
  writeFile(file: NewFile | StreamedFile): Promise<void>;
  /** Replaces a file or link by a symbolic link, by rename. Creates parents. */
  writeLink(path: string, target: string): Promise<void>;
  /**
   * Gives a file a second name, in place of what has it, by rename: all that the file is stays with it, such as ACLs. False where
   * that is on another file system.
   */
  linkFile(path: string, to: string): Promise<boolean>;
  /** Removes a file or a link itself; does nothing when it does not exist. */
  removeFile(path: string): Promise<void>;
  /** Removes an empty directory; does nothing when it does not exist. Throws `ENOTEMPTY` for one that is not empty. */
  removeDirectory(path: string): Promise<void>;
  makeDirectory(path: string, mode: number): Promise<void>;
  chmod(path: string, mode: number): Promise<void>;
  /** Sets the owner and group of a file or directory; does not follow a symbolic link. */
  chown(path: string, uid: number, gid: number): Promise<void>;
  /** Writes a kernel interface file (/proc/sys, /sys) in place. Throws the errno unchanged. */
  writeKernelFile(path: string, value: string): Promise<void>;
  /** Flushes a file and its name to the disk; for a directory, everything on its file system. */
  sync(path: string): Promise<void>;
  /**
   * Runs a command to its end. Throws `HostStepFailed` only when it could not be started or was aborted (then the
   * signal's own reason, where that is a `MachineadmError`). After a timeout `timedOut` is true and the status is above
   * 0.
   */
  run(command: Command): Promise<CommandResult>;
  /** The HTTP client of this run, with the proxy and the certificate authorities of the document. */
  http(): Promise<HttpClient>;
  /**
   * Pulls an image through the container runtime at a `unix://` socket, as the kubelet does, but without credentials of
   * a pod. Returns its id. Throws `CriError`.
   */
  pullImage(socket: string, reference: string, signal: AbortSignal): Promise<string>;
  /**
   * Stops and removes all pods through the container runtime at a `unix://` socket. Returns their number. Throws
   * `CriError`.
   */
  removePods(socket: string, signal: AbortSignal): Promise<number>;
  /**
   * Runs a pod without containers through the container runtime at a `unix://` socket, and removes it. `cgroupParent`: a slice, for
   * the systemd cgroup driver; otherwise empty. Throws `CriError`.
   */
  probePod(socket: string, cgroupParent: string, signal: AbortSignal): Promise<void>;
  /** The value of a secret, resolved once per run, with side effects if needed. Throws `SecretUnavailable`. */
  secret(value: SecretValue): Promise<Secret>;
  readonly services: ServiceManager;
}

/** An open file of any size: its digest, its bytes and a command's input are of one file, even if its path gets another. */
export interface OpenFile extends AsyncDisposable, AsyncIterable<Uint8Array> {
  readonly size: number;
  /** Device, inode, size and times: the kernel changes it with every change of the file (stat(2), ctime). */
  readonly identity: string;
  /** Positioned at the start of the file; reading does not move it. */
  readonly descriptor: number;
  /** At most `length` bytes from `position` on, fewer only at the end. */
  read(position: number, length: number): Promise<Uint8Array>;
  /** Lower-case hex SHA-256. */
  sha256(): Promise<string>;
}

export interface FileStat {
  readonly type: 'file' | 'directory' | 'symlink' | 'socket' | 'other';
  /** Permission bits only. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  /** Device, inode and modification time: changes whenever the file is written or replaced. */
  readonly fingerprint?: string;
  /** Of the content, in milliseconds since the epoch. */
  readonly modifiedMs?: number;
}

export interface NewFile {
  readonly path: string;
  readonly content: Uint8Array | string;
  readonly mode: number;
  /** Numeric; default 0. */
  readonly uid?: number;
  readonly gid?: number;
  /** Mode of created parents; default 0755. */
  readonly directoryMode?: number;
  /** Set where no more than a block of it is ours: for the journal. */
  readonly block?: { readonly name: string; readonly comment: string };
}

/** A file whose content is too large for memory. If the stream throws, the previous file stays in place. */
export interface StreamedFile extends Omit<NewFile, 'content'> {
  readonly content: AsyncIterable<Uint8Array>;
}

/** A program and arguments of the allowlist of queries; `queries.ts` checks it at run time. */
export interface Query {
  readonly program: string;
  readonly args: readonly string[];
  /**
   * Standard input, passed as an anonymous file (`linux/anonymous-file.ts`) instead of a pipe: Node's pipes are socket
   * pairs, which cannot be opened through /dev/stdin (ENXIO), and containerd 2.x seeks in its input.
   */
  readonly input?: string;
  /**
   * Files that exist only while the query runs, by the path that they are checked for: readable by root alone, in a new directory
   * that is removed behind it. `PRIVATE_FILES` in an argument or a content stands for that directory. Linux only.
   */
  readonly files?: Readonly<Record<string, string>>;
  /** Paths below that directory whose content is part of the result, if the program wrote them. */
  readonly reads?: readonly string[];
  /** Default 30 s. */
  readonly timeoutMs?: number;
}

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  /** Written to standard input, which is then closed; on Linux an `OpenFile` is the standard input itself. Default: empty. */
  readonly input?: string | AsyncIterable<Uint8Array> | OpenFile;
  /** Added to a clean environment (PATH, HOME, LANG). */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Called with each complete line, redacted, as it arrives. */
  readonly onLine?: (stream: 'stdout' | 'stderr', line: string) => void;
  /** Called with each line that it writes to its descriptor 3. `answer` writes a line that it can read from there. */
  readonly onDescriptorLine?: (line: string, answer: (text: string) => void) => void;
  /**
   * True for a command that must not outlive this run (kubeadm, a hook): it is marked in its environment, and the next
   * run ends the processes that a killed run left behind before it inspects the machine. When a signal of another
   * sender kills it, `run` throws `CommandKilled`: its output is then no verdict.
   */
  readonly supervised?: boolean;
  /** What it alters, as far as that is known beforehand: the state before is recorded for a reset. */
  readonly changes?: readonly Resource[];
}

export interface CommandResult {
  /** The exit status; 128 + signal when it was killed. */
  readonly status: number;
  /** The last 1 MiB of each stream. Not redacted: redact before it leaves the process. */
  readonly stdout: string;
  readonly stderr: string;
  /** True when it was killed because of its timeout. */
  readonly timedOut: boolean;
  /** By path: what a query wrote of its `reads`. */
  readonly files?: Readonly<Record<string, string>>;
  /** The kernel's counter, where it killed a process of a supervised command for lack of memory; Linux only. */
  readonly outOfMemory?: Evidence;
}

export interface ServiceState {
  readonly exists: boolean;
  readonly active: boolean;
  readonly enabled: boolean;
  readonly masked: boolean;
  /** `failed`, `activating`, … as reported by the service manager. */
  readonly detail: string;
  /** The main process, while it runs. */
  readonly pid: number | undefined;
  /** Start of its current process, in milliseconds since the epoch; undefined when it does not run. */
  readonly startedAtMs: number | undefined;
  /** True where it can be neither enabled nor disabled (a static or generated unit). */
  readonly fixed?: boolean;
  /** True where its unit file on disk is newer than what the service manager has loaded. */
  readonly needsReload?: boolean;
  /** Further details with systemd. */
  readonly unit?: UnitFacts;
}

/**
 * systemd; OpenRC and the Windows service manager have the same interface. Each method throws `ServiceFailed`, and does
 * nothing where the state is already as wanted. Names are those of the document: without a suffix, a `.service`.
 */
export interface ServiceManager {
  reload(): Promise<void>;
  start(name: string): Promise<void>;
  stop(name: string): Promise<void>;
  restart(name: string): Promise<void>;
  /** Has a service that runs read its configuration again; one that cannot is restarted. */
  reloadService(name: string): Promise<void>;
  enable(name: string): Promise<void>;
  /** No longer started at boot; a running service continues. */
  disable(name: string): Promise<void>;
  /** Cannot be started, not even manually, until it is unmasked; a running service continues. */
  mask(name: string): Promise<void>;
  unmask(name: string): Promise<void>;
  /** The last journal lines of a service, for evidence. */
  logs(name: string, lines: number): Promise<readonly string[]>;
}

/** A command of a killed run that had survived it and was ended. */
export interface EndedOrphan {
  readonly pid: number;
  /** The name of the program, as reported by the kernel. */
  readonly name: string;
  readonly runId: string;
}
