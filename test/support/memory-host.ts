import { createHash } from 'node:crypto';
import { basename, dirname } from 'node:path/posix';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { hasEffects, Secret, type SecretValue } from '@machineadm/document/secrets/secret.ts';
import { formatMode } from '@machineadm/document/text/units.ts';
import type { CriQueries } from '../../src/host/cri/queries.ts';
import { redactedRequest } from '../../src/host/http/client.ts';
import { HttpError } from '../../src/host/http/error.ts';
import type { InterfaceAddress } from '../../src/host/seam/facts.ts';
import type {
  Command,
  CommandResult,
  FileStat,
  Host,
  NewFile,
  Query,
  QueryHost,
  ServiceManager,
  ServiceState,
  StreamedFile,
} from '../../src/host/seam/host.ts';
import type { HttpClient, HttpRequest } from '../../src/host/seam/http.ts';
import { assertQuery } from '../../src/host/seam/queries.ts';
import { openrcBootFile, systemdBootFile } from '../../src/host/services/boot-command.ts';
import { openrcEnvironment, systemdEnvironment } from '../../src/host/services/environment.ts';

/** An entry of the machine's file tree as a test writes it down; a bare string or bytes is a file 0644 root:root. */
export interface MemoryFile {
  readonly type?: FileStat['type'];
  readonly content?: string | Uint8Array;
  readonly mode?: number;
  readonly uid?: number;
  readonly gid?: number;
  /** Extended attributes, as a text: no tool makes them, and a file that is written anew has none. */
  readonly extended?: string;
  /** When it was written, in milliseconds since the epoch; absent: not known. */
  readonly modifiedMs?: number;
}

/**
 * A file of /proc/sys or /sys. `write` answers a written value: it returns what is read back afterwards (a kernel may
 * round or ignore), or throws an errno (`errno('EINVAL')`).
 */
export interface MemoryKernelFile {
  readonly value: string;
  readonly write?: (value: string) => string;
}

/** A service, how it answers, and what its journal says. */
export interface MemoryService extends Partial<ServiceState> {
  /** Set: starting or restarting it throws ServiceFailed with this summary. */
  readonly fails?: string;
  readonly logs?: readonly string[];
}

/** Answers a run or a query of one program. What is left out is: status 0, no output, not timed out. */
export type MemoryProgram = (
  command: Command & Pick<Query, 'files'>,
  host: MemoryHost,
) => Partial<CommandResult> | Promise<Partial<CommandResult>>;

export interface MemoryMachine {
  readonly files?: Readonly<Record<string, string | Uint8Array | MemoryFile>>;
  readonly kernelFiles?: Readonly<Record<string, string | MemoryKernelFile>>;
  /** By program name, or by absolute path. One that is not here is not installed. */
  readonly programs?: Readonly<Record<string, MemoryProgram>>;
  readonly services?: Readonly<Record<string, MemoryService>>;
  /** Its service manager has no drop-ins, as OpenRC has none. */
  readonly knowsNoDropIns?: boolean;
  /** What the files that it reads look like; default systemd. */
  readonly serviceManager?: 'systemd' | 'openrc' | 'none';
  /** Default: none. A test may change the list while a step runs. */
  readonly addresses?: readonly InterfaceAddress[];
  readonly cri?: Partial<CriQueries>;
  /** Pulls an image, or throws as the runtime would; absent: every pull succeeds. */
  readonly pull?: (reference: string) => string | undefined | Promise<string>;
  /** Removes the pods of the runtime, or throws as it would; absent: there are none. */
  readonly removePods?: (host: MemoryHost) => number | Promise<number>;
  /** Throws where no pod starts. */
  readonly probePod?: (host: MemoryHost) => void;
  /** Besides root, which is always there. */
  readonly users?: Readonly<Record<string, number>>;
  readonly groups?: Readonly<Record<string, number>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly credentials?: Readonly<Record<string, string>>;
  /** Answers requests of the agent itself; absent: nothing can be reached. */
  readonly http?: (request: HttpRequest) => { readonly status?: number; readonly body?: string | Uint8Array };
  /** By name: values of secrets that have effects to find out. `queryOnly` does not tell them. */
  readonly secrets?: Readonly<Record<string, string>>;
}

/** A machine in memory. Mutations change what is read later, and are logged in order. */
export interface MemoryHost extends Host {
  /**
   * Every mutation: `write /p 0644 0:0`, `remove /p`, `mkdir /p 0755`, `chmod /p 0600`, `chown /p 0:0`, `kernel /proc/… = 1`,
   * `link /p -> target`, `sync /p`, `run program args`, `service restart containerd`, `service reload`. Never a content.
   */
  readonly log: string[];
  /** Every query, as `program args`. One that the closed list refuses throws, as on a real machine. */
  readonly queries: string[];
  /** Content of a file as text, for assertions and for programs that write; undefined when absent. */
  text(path: string): string | undefined;
  /** Puts a file there as another program would, without logging a mutation. */
  put(path: string, file: string | Uint8Array | MemoryFile): void;
  /** Takes a path away as another program would. */
  take(path: string): void;
  /** Everything there is, as lines to be compared: paths with type, mode, owner and content, kernel settings, services. */
  snapshot(): readonly string[];
  /** Changes a service as the machine itself would. */
  setService(name: string, state: MemoryService | undefined): void;
}

/** The same machine where it may only be asked, as `plan` gets it. */
export function queryOnly(host: MemoryHost): QueryHost {
  return { ...host, secret: async (value) => (hasEffects(value.source) ? undefined : await host.secret(value)) };
}

/** An error as the kernel would raise it: `throw errno('EACCES')`. */
export function errno(code: string, path = ''): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: simulated, '${path}'`), { code });
}

interface Entry {
  readonly type: FileStat['type'];
  readonly bytes: Uint8Array;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly extended?: string | undefined;
  readonly modifiedMs?: number | undefined;
  /** Another number with each write. */
  readonly written: number;
}

const STOPPED: ServiceState = {
  exists: true,
  active: false,
  enabled: false,
  masked: false,
  detail: 'inactive',
  pid: undefined,
  startedAtMs: undefined,
};

/** Makes a machine in memory for the unit tests of steps. */
export function memoryHost(machine: MemoryMachine = {}): MemoryHost {
  const log: string[] = [];
  const queries: string[] = [];
  const tree = new Map<string, Entry>();
  const kernel = new Map<string, MemoryKernelFile>();
  const services = new Map<string, MemoryService>(Object.entries(machine.services ?? {}));
  let clock = 0;
  let writes = 0;

  const put = (path: string, file: string | Uint8Array | MemoryFile): void => {
    const entry = typeof file === 'string' || file instanceof Uint8Array ? { content: file } : file;
    const type = entry.type ?? 'file';
    tree.set(path, {
      type,
      bytes: bytesOf(entry.content ?? ''),
      mode: entry.mode ?? (type === 'directory' ? 0o755 : 0o644),
      uid: entry.uid ?? 0,
      gid: entry.gid ?? 0,
      extended: entry.extended,
      modifiedMs: entry.modifiedMs,
      written: ++writes,
    });
    putParents(path, 0o755);
  };
  const putParents = (path: string, mode: number): void => {
    for (let parent = dirname(path); !tree.has(parent); parent = dirname(parent)) {
      tree.set(parent, { type: 'directory', bytes: new Uint8Array(), mode, uid: 0, gid: 0, written: ++writes });
      if (parent === '/' || parent === '.') return;
    }
  };
  for (const [path, file] of Object.entries(machine.files ?? {})) put(path, file);
  for (const [path, file] of Object.entries(machine.kernelFiles ?? {})) {
    kernel.set(path, typeof file === 'string' ? { value: file } : file);
    putParents(path, 0o755);
  }

  const read = (path: string): Uint8Array | undefined => {
    const kernelFile = kernel.get(path);
    if (kernelFile !== undefined) return bytesOf(kernelFile.value);
    const entry = tree.get(path);
    if (entry?.type === 'directory') throw errno('EISDIR', path);
    return entry?.bytes;
  };
  const text = (path: string): string | undefined => {
    const bytes = read(path);
    return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
  };
  const programOf = (name: string): MemoryProgram | undefined =>
    machine.programs?.[name] ?? machine.programs?.[basename(name)];

  const stateOf = (name: string): ServiceState => {
    const known = services.get(unit(name));
    if (known === undefined) return { ...STOPPED, exists: false, detail: 'not-found' };
    const { fails: _fails, logs: _logs, ...state } = known;
    const active = state.active ?? false;
    return { ...STOPPED, detail: active ? 'active' : 'inactive', ...state };
  };
  const unit = (name: string): string =>
    services.has(name) ? name : name.endsWith('.service') ? name.slice(0, -'.service'.length) : name;
  const changeService = (verb: string, name: string, change: Partial<ServiceState>): void => {
    log.push(`service ${verb} ${name}`);
    const known = services.get(unit(name));
    if (known === undefined) throw serviceFailed(`${name} could not be ${verb}ed: the unit was not found`);
    if (known.fails !== undefined && (verb === 'start' || verb === 'restart')) throw serviceFailed(known.fails);
    services.set(unit(name), { ...known, ...change });
  };
  const started = (): Partial<ServiceState> => {
    clock += 1;
    return { active: true, detail: 'active', pid: 1000 + clock, startedAtMs: clock * 1000 };
  };

  const manager: ServiceManager = {
    async reload() {
      log.push('service reload');
      for (const [name, service] of services) services.set(name, { ...service, needsReload: false });
    },
    async start(name) {
      changeService('start', name, stateOf(name).active ? {} : started());
    },
    async stop(name) {
      changeService('stop', name, { active: false, detail: 'inactive', pid: undefined, startedAtMs: undefined });
    },
    async restart(name) {
      changeService('restart', name, started());
    },
    async reloadService(name) {
      changeService('reload', name, {});
    },
    async enable(name) {
      changeService('enable', name, { enabled: true });
    },
    async disable(name) {
      changeService('disable', name, { enabled: false });
    },
    async mask(name) {
      if (!services.has(unit(name))) services.set(name, { exists: false });
      changeService('mask', name, { masked: true });
    },
    async unmask(name) {
      changeService('unmask', name, { masked: false });
    },
    async logs(name, lines) {
      return (services.get(unit(name))?.logs ?? []).slice(-lines);
    },
  };

  const execute = async (command: Command & Pick<Query, 'files'>): Promise<CommandResult> => {
    const program = programOf(command.program);
    if (program === undefined)
      return { status: 127, stdout: '', stderr: `${command.program}: not found`, timedOut: false };
    const answer = await program(command, host);
    return { status: 0, stdout: '', stderr: '', timedOut: false, ...answer };
  };

  const host: MemoryHost = {
    log,
    queries,
    text,
    put,
    take(path) {
      tree.delete(path);
    },
    setService(name, state) {
      if (state === undefined) services.delete(name);
      else services.set(name, state);
    },
    snapshot() {
      const entries = [...tree].map(([path, { type, mode, uid, gid, bytes, extended = '' }]) => {
        return `${path} ${type} ${formatMode(mode)} ${uid}:${gid}${extended} ${new TextDecoder().decode(bytes)}`;
      });
      const settings = [...kernel].map(([path, { value }]) => `${path} = ${value.trim()}`);
      const units = [...services.keys()].map((name) => {
        const { exists, active, enabled, masked } = stateOf(name);
        return `service ${name} ${JSON.stringify({ exists, active, enabled, masked })}`;
      });
      return [...entries, ...settings, ...units].sort();
    },

    async readFile(path) {
      return read(path);
    },
    async readText(path) {
      return text(path);
    },
    async readRange(path, position, length) {
      return read(path)?.slice(position, position + length);
    },
    async openFile(path) {
      const bytes = read(path);
      if (bytes === undefined) return undefined;
      return {
        size: bytes.length,
        identity: `${path} ${tree.get(path)?.written}`,
        descriptor: -1,
        read: async (position, length) => bytes.slice(position, position + length),
        sha256: async () => createHash('sha256').update(bytes).digest('hex'),
        async *[Symbol.asyncIterator]() {
          yield bytes;
        },
        async [Symbol.asyncDispose]() {},
      };
    },
    async stat(path) {
      const kernelFile = kernel.get(path);
      if (kernelFile !== undefined) return { type: 'file', mode: 0o644, uid: 0, gid: 0, size: 0 };
      const entry = tree.get(path);
      if (entry === undefined) return undefined;
      const { type, mode, uid, gid, bytes, written, modifiedMs } = entry;
      const time = modifiedMs === undefined ? {} : { modifiedMs };
      return { type, mode, uid, gid, size: bytes.length, fingerprint: `0:${written}`, ...time };
    },
    async readLink(path) {
      const entry = tree.get(path);
      return entry?.type === 'symlink' ? new TextDecoder().decode(entry.bytes) : undefined;
    },
    async realPath(path) {
      let real = '';
      const parts = path.split('/').slice(1);
      for (const [index, part] of parts.entries()) {
        const entry = index < parts.length - 1 ? tree.get(`${real}/${part}`) : undefined;
        real = entry?.type === 'symlink' ? new TextDecoder().decode(entry.bytes) : `${real}/${part}`;
      }
      return real;
    },
    async list(path) {
      const directory = tree.get(path);
      if (directory === undefined && path !== '/') return undefined;
      if (directory !== undefined && directory.type !== 'directory') throw errno('ENOTDIR', path);
      const all = [...tree.keys(), ...kernel.keys()];
      return all
        .filter((other) => other !== path && dirname(other) === path)
        .map((other) => basename(other))
        .sort();
    },
    async sha256(path) {
      const bytes = read(path);
      return bytes === undefined ? undefined : createHash('sha256').update(bytes).digest('hex');
    },
    async addresses() {
      return [...(machine.addresses ?? [])];
    },
    async which(program) {
      if (programOf(program) === undefined) return undefined;
      return program.startsWith('/') ? program : `/usr/bin/${program}`;
    },
    async query(query: Query) {
      assertQuery(query);
      queries.push([query.program, ...query.args].join(' '));
      return execute(query);
    },
    async userId(user) {
      return /^\d+$/.test(user) ? Number(user) : { root: 0, ...machine.users }[user];
    },
    async groupId(group) {
      return /^\d+$/.test(group) ? Number(group) : { root: 0, ...machine.groups }[group];
    },
    async service(name) {
      return stateOf(name);
    },
    dropInPath(service, file) {
      return machine.knowsNoDropIns ? undefined : `/etc/systemd/system/${service}.service.d/${file}`;
    },
    bootFile: {
      systemd: systemdBootFile,
      openrc: openrcBootFile,
      none: () => undefined,
    }[machine.serviceManager ?? 'systemd'],
    serviceEnvironment(service, name, file) {
      return machine.serviceManager === 'openrc'
        ? openrcEnvironment(service, file)
        : systemdEnvironment(`/etc/systemd/system/${service}.service.d/${name}`, file);
    },
    async secret(value) {
      return resolveSecret(value, machine, text);
    },
    cri() {
      return criOf(machine.cri ?? {});
    },
    async pullImage(_socket, reference) {
      log.push(`pull ${reference}`);
      return (await machine.pull?.(reference)) ?? 'sha256:0';
    },
    async probePod(_socket, cgroupParent) {
      log.push(`probe pod ${cgroupParent}`.trimEnd());
      machine.probePod?.(host);
    },
    async removePods(socket) {
      log.push(`remove pods of ${socket}`);
      return (await machine.removePods?.(host)) ?? 0;
    },

    async writeFile(file: NewFile | StreamedFile) {
      const content = await allOf(file.content);
      log.push(`write ${file.path} ${formatMode(file.mode)} ${file.uid ?? 0}:${file.gid ?? 0}`);
      if (tree.get(file.path)?.type === 'directory') throw errno('EISDIR', file.path);
      putParents(file.path, file.directoryMode ?? 0o755);
      put(file.path, { content, mode: file.mode, uid: file.uid ?? 0, gid: file.gid ?? 0 });
    },
    async writeLink(path, target) {
      log.push(`link ${path} -> ${target}`);
      if (tree.get(path)?.type === 'directory') throw errno('EISDIR', path);
      put(path, { type: 'symlink', content: target, mode: 0o777 });
    },
    async linkFile(path, to) {
      const entry = tree.get(path);
      if (entry === undefined) throw errno('ENOENT', path);
      putParents(to, 0o700);
      tree.set(to, entry);
      return true;
    },
    async removeFile(path) {
      log.push(`remove ${path}`);
      if (tree.get(path)?.type === 'directory') throw errno('EISDIR', path);
      tree.delete(path);
    },
    async removeDirectory(path) {
      log.push(`rmdir ${path}`);
      if ([...tree.keys()].some((other) => other.startsWith(`${path}/`))) throw errno('ENOTEMPTY', path);
      tree.delete(path);
    },
    async makeDirectory(path, mode) {
      log.push(`mkdir ${path} ${formatMode(mode)}`);
      if (!tree.has(path)) put(path, { type: 'directory', mode });
    },
    async chmod(path, mode) {
      log.push(`chmod ${path} ${formatMode(mode)}`);
      const entry = tree.get(path);
      if (entry === undefined) throw errno('ENOENT', path);
      tree.set(path, { ...entry, mode });
    },
    async chown(path, uid, gid) {
      log.push(`chown ${path} ${uid}:${gid}`);
      const entry = tree.get(path);
      if (entry === undefined) throw errno('ENOENT', path);
      tree.set(path, { ...entry, uid, gid });
    },
    async writeKernelFile(path, value) {
      log.push(`kernel ${path} = ${value}`);
      const file = kernel.get(path);
      if (file === undefined) throw errno('ENOENT', path);
      kernel.set(path, { ...file, value: file.write === undefined ? value : file.write(value) });
    },
    async sync(path) {
      if (!path.startsWith('/')) throw errno('ENOENT', path);
      log.push(`sync ${path}`);
    },
    async run(command: Command) {
      log.push(redact(['run', command.program, ...command.args].join(' ')));
      if (programOf(command.program) === undefined) throw notStarted(command.program);
      command.signal?.throwIfAborted();
      const result = await execute(command);
      for (const stream of ['stdout', 'stderr'] as const) {
        for (const line of linesOf(result[stream])) command.onLine?.(stream, redact(line));
      }
      return result;
    },
    async http() {
      return httpOf(machine, log);
    },
    services: manager,
  };
  return host;
}

function bytesOf(content: string | Uint8Array): Uint8Array {
  return typeof content === 'string' ? new TextEncoder().encode(content) : content;
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

function serviceFailed(summary: string): MachineadmError {
  return new MachineadmError({ reason: 'ServiceFailed', summary, remedy: 'Read the journal of the service.' });
}

function notStarted(program: string): MachineadmError {
  return new MachineadmError({
    reason: 'HostStepFailed',
    summary: `${program} could not be started: it is not installed`,
    remedy: `Install ${program}.`,
  });
}

function resolveSecret(value: SecretValue, machine: MemoryMachine, text: (path: string) => string | undefined): Secret {
  const { source } = value;
  if (source.kind === 'value') return source.secret;
  const found =
    source.kind === 'file'
      ? text(source.path)?.replace(/\r?\n$/, '')
      : source.kind === 'env'
        ? machine.env?.[source.variable]
        : source.kind === 'systemdCredential'
          ? machine.credentials?.[source.name]
          : machine.secrets?.[value.name];
  if (found !== undefined) return new Secret(found);
  throw new MachineadmError({
    reason: 'SecretUnavailable',
    summary: `secret ${value.name} is not there`,
    remedy: 'Provide it.',
  });
}

function httpOf(machine: MemoryMachine, log: string[]): HttpClient {
  return {
    async request(request) {
      const what = redactedRequest(request.method ?? 'GET', request.url);
      log.push(`http ${what}`);
      if (machine.http === undefined) throw new HttpError('connection', what, 'nothing can be reached');
      const { status = 200, body = '' } = machine.http(request);
      async function* chunks(): AsyncGenerator<Uint8Array> {
        yield bytesOf(body);
      }
      return { status, headers: new Map(), body: chunks(), discard: async () => undefined };
    },
    async close() {},
  };
}

async function allOf(content: string | Uint8Array | AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  if (typeof content === 'string' || content instanceof Uint8Array) return bytesOf(content);
  const pieces: Uint8Array[] = [];
  for await (const piece of content) pieces.push(piece);
  return Buffer.concat(pieces);
}

function criOf(given: Partial<CriQueries>): CriQueries {
  return {
    // It does not say which.
    version: async () => ({ runtimeName: 'containerd', runtimeVersion: '' }),
    status: async () => [
      { type: 'RuntimeReady', status: true, reason: '', message: '' },
      { type: 'NetworkReady', status: true, reason: '', message: '' },
    ],
    cgroupDriver: async () => 'systemd',
    configuration: async () => ({ cgroupDriver: 'systemd', sandboxImage: undefined, restrictOomScoreAdj: undefined }),
    images: async () => [],
    exitedContainers: async () => [],
    workloads: async () => ({ pods: [], containers: [] }),
    ...given,
  };
}
