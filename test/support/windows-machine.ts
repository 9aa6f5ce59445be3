import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { HttpError } from '../../src/host/http/error.ts';
import { gatherWindowsFacts } from '../../src/host/machine/windows-facts.ts';
import { windowsHost, windowsQueryHost } from '../../src/host/machine/windows-host.ts';
import type { Facts } from '../../src/host/seam/facts.ts';
import type { Command, CommandResult, Host, QueryHost } from '../../src/host/seam/host.ts';
import { POWERSHELL, windowsPath } from '../../src/host/windows/paths.ts';
import type { WindowsScript } from '../../src/host/windows/powershell.ts';
import { isWindowsQuery } from '../../src/host/windows/queries.ts';
import type { WindowsSystem } from '../../src/host/windows/system.ts';
import {
  descriptorAt,
  MachineKilled,
  type StandIn,
  scriptOf,
  standInsOfWindows,
  type WindowsState,
} from './windows-stand-ins.ts';

export { MachineKilled, type WindowsState } from './windows-stand-ins.ts';

/**
 * A Windows machine for tests on Linux: the real code of src/host/windows, on a machine whose files lie below a temporary
 * directory (`C:\k\kubeadm.exe` is DIR/C/k/kubeadm.exe) and whose programs are recordings.
 *
 * - What the host itself asks of Windows (facts, access rights, services, flushing) is answered by stand-ins that work on
 *   `machine.state`: composed after the documentation of each, as no Windows was at hand.
 * - Every other program is a `Recording`: exact arguments and standard input -> what it prints and does. A call that no
 *   recording fits fails the test: it throws, and `machine.assertExpected()` names it even where code swallowed it.
 * - `machine.commands` are all calls in order, for exact assertion: `kubeadm.exe join …`, `powershell.exe <name> {json}`.
 * - `machine.reboot()`: another boot id, what was to happen at the next start happens (`state.atNextBoot`), services that
 *   start by themselves run, and hosts opened before are dead.
 * - `machine.killAt(point)`: the machine loses power just before or after a call; from then on everything that is asked of
 *   it throws `MachineKilled` and changes nothing, until `machine.reboot()`. Effects are counted (`machine.effects`), so that
 *   a test can kill at each: `killAt({ effect: 7 })`.
 *
 * ```ts
 * await using machine = windowsMachine({ recordings: [
 *   { program: 'nltest.exe', args: ['/sc_verify:corp.example.com'], stdout: '…', from: { composed: 'Microsoft Learn, nltest' } },
 * ] });
 * const facts = await machine.facts();
 * await runSteps(steps, { model, facts, host: machine.host(), … });
 * ```
 */
export interface WindowsMachine extends AsyncDisposable {
  readonly state: WindowsState;
  /** All calls so far, in order, those of the host itself included. */
  readonly calls: readonly WindowsCall[];
  /** The calls in words; those of the host itself (facts, rights, service states, flushing) are left out. */
  readonly commands: readonly string[];
  /** How many changes were begun: files written and removed, programs run that are no questions. */
  readonly effects: number;
  /** The seam, for code that takes a `WindowsSystem`. */
  readonly system: WindowsSystem;
  host(signal?: AbortSignal): Host;
  queryHost(): QueryHost;
  facts(different?: Partial<Facts>): Promise<Facts>;
  /** More recordings, tried before those that were there. */
  record(...recordings: readonly Recording[]): void;
  /** Where a path with or without a drive lies on this Linux. */
  native(path: string): string;
  write(path: string, content: string): void;
  read(path: string): string | undefined;
  /** The security descriptor of a file in SDDL, inherited or its own; null when it is not there. */
  descriptor(path: string): string | null;
  killAt(point: KillPoint): void;
  reboot(): void;
  /** Throws when a call was made that no recording fits. */
  assertExpected(): void;
}

/** One answer of one program. */
export type Recording = RecordedCall & {
  readonly stdout?: string;
  readonly stderr?: string;
  readonly status?: number;
  /** Never ends by itself: the caller's timeout passes at once. */
  readonly hangs?: true;
  /** What the program does to the machine. */
  readonly effect?: (machine: WindowsMachine, call: WindowsCall) => void;
  /** Where what it prints is from: printed by a real Windows (and where that can be read), or written after a page. */
  readonly from: { readonly captured: string } | { readonly composed: string };
};

type RecordedCall =
  | {
      /** `nltest.exe`, or the absolute path where two of a name matter. It is put on the machine. */
      readonly program: string;
      readonly args: readonly string[];
      /** Exact standard input; undefined = none. */
      readonly input?: string;
    }
  | {
      readonly script: WindowsScript;
      /** The JSON that it must be given; undefined = any. */
      readonly request?: object;
      /** What it answers, in place of `stdout`. */
      readonly answer?: unknown;
      readonly error?: { readonly message: string; readonly type?: string; readonly hresult?: number };
    };

export interface WindowsCall {
  readonly program: string;
  readonly args: readonly string[];
  readonly input: string | undefined;
  /** The name of the script, where it is one of ours. */
  readonly script: string | undefined;
  readonly env: Readonly<Record<string, string>> | undefined;
}

/** Before or after the n-th call (from 1, default 1) whose words hold `command`, or before an effect by its number. */
export type KillPoint =
  | { readonly before: string; readonly nth?: number }
  | { readonly after: string; readonly nth?: number }
  | { readonly effect: number };

export interface WindowsMachineOptions {
  readonly recordings?: readonly Recording[];
  readonly state?: Partial<WindowsState>;
  /** Path -> content. */
  readonly files?: Readonly<Record<string, string>>;
  /** Programs that are installed though nothing is recorded of them. */
  readonly programs?: readonly string[];
  /** False: neither containerd nor kubeadm and the kubelet (v1.35.2) are there. Default true. */
  readonly isNode?: boolean;
}

/** Sets up a machine. Dispose of it: its files are removed. */
export function windowsMachine(options: WindowsMachineOptions = {}): WindowsMachine {
  return new FakeWindows(options);
}

class FakeWindows implements WindowsMachine {
  readonly state: WindowsState;
  readonly calls: WindowsCall[] = [];
  readonly system: WindowsSystem;
  effects = 0;
  readonly #directory: string;
  readonly #standIns: ReadonlyMap<string, StandIn>;
  readonly #unexpected: string[] = [];
  readonly #answered = new Map<Recording, number>();
  #recordings: readonly Recording[];
  #killPoint: KillPoint | undefined;
  #seen = 0;
  #isDead = false;
  #boot = 0;

  constructor(options: WindowsMachineOptions) {
    this.#directory = mkdtempSync(join(tmpdir(), 'windows-'));
    this.#recordings = [...(options.recordings ?? []), ...(options.isNode === false ? [] : NODE)];
    const { standIns, state } = standInsOfWindows(options.state ?? {}, (path) => this.native(path));
    this.#standIns = standIns;
    this.state = state;
    this.system = this.#systemOf(0);
    mkdirSync(this.native('C:\\Windows\\Temp'), { recursive: true });
    for (const program of [POWERSHELL, ...(options.programs ?? [])]) this.write(program, '');
    for (const [path, content] of Object.entries(options.files ?? {})) this.write(path, content);
    this.record();
  }

  get commands(): readonly string[] {
    return this.calls.filter(({ script }) => script === undefined || !isHousekeeping(script)).map(words);
  }

  host(signal?: AbortSignal): Host {
    const boot = this.#boot;
    const system = this.#systemOf(boot);
    const options = { http: noNetwork, ...(signal === undefined ? {} : { signal }) };
    const host = windowsHost(system, options);
    const effect = (said: string, path: string): void => this.#beginEffect(boot, `${said} ${windowsPath(path)}`);
    return this.#killable(boot, {
      ...host,
      services: this.#killable(boot, host.services),
      writeFile: async (file: Parameters<Host['writeFile']>[0]) => {
        effect('write', file.path);
        await host.writeFile(file);
      },
      removeFile: async (path: string) => {
        effect('remove', path);
        await host.removeFile(path);
      },
    });
  }

  /** Code wraps what it meets in errors of its own; of a machine that lost its power nobody can tell anything. */
  #killable<Methods extends object>(boot: number, methods: Methods): Methods {
    return new Proxy(methods, {
      get: (target, name, receiver) => {
        const method: unknown = Reflect.get(target, name, receiver);
        if (typeof method !== 'function') return method;
        return (...args: unknown[]) => {
          const result: unknown = Reflect.apply(method, target, args);
          return result instanceof Promise ? result.catch((error: unknown) => this.#endedBy(boot, error)) : result;
        };
      },
    });
  }

  #endedBy(boot: number, error: unknown): never {
    this.#assertAlive(boot);
    throw error;
  }

  queryHost(): QueryHost {
    return windowsQueryHost(this.#systemOf(this.#boot));
  }

  async facts(different: Partial<Facts> = {}): Promise<Facts> {
    return { ...(await gatherWindowsFacts(this.queryHost(), 'x64')), ...different };
  }

  record(...recordings: readonly Recording[]): void {
    this.#recordings = [...recordings, ...this.#recordings];
    for (const recording of this.#recordings) {
      if ('script' in recording) continue;
      const { program } = recording;
      const path = program.includes('\\') ? program : placeOf(program);
      if (!existsSync(this.native(path))) this.write(path, '');
    }
  }

  native(path: string): string {
    const windows = path.startsWith('\\\\.\\pipe\\') ? `P:\\${path.slice(9)}` : windowsPath(path);
    return join(this.#directory, windows.charAt(0), ...windows.slice(2).split('\\'));
  }

  write(path: string, content: string): void {
    mkdirSync(dirname(this.native(path)), { recursive: true });
    writeFileSync(this.native(path), content);
  }

  read(path: string): string | undefined {
    return existsSync(this.native(path)) ? readFileSync(this.native(path), 'utf8') : undefined;
  }

  descriptor(path: string): string | null {
    return descriptorAt(this.state, windowsPath(path), (windows) => this.native(windows));
  }

  killAt(point: KillPoint): void {
    this.#killPoint = point;
    this.#seen = 0;
  }

  reboot(): void {
    this.#isDead = false;
    this.#killPoint = undefined;
    this.#boot += 1;
    this.state.bootNumber += 1;
    this.state.boot = new Date(Date.parse(this.state.boot) + 60_000).toISOString();
    for (const service of Object.values(this.state.services)) {
      service.pid = undefined;
      service.state = service.startMode === 'Auto' ? 'Running' : 'Stopped';
      if (service.state === 'Running') service.pid = 1000 + this.#boot;
    }
    for (const happens of this.state.atNextBoot.splice(0)) happens(this.state);
  }

  assertExpected(): void {
    assert.deepEqual(this.#unexpected, [], 'calls that no recording fits');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #systemOf(boot: number): WindowsSystem {
    return {
      native: (path) => {
        this.#assertAlive(boot);
        return this.native(path);
      },
      run: async (command) => await this.#run(boot, command),
    };
  }

  async #run(boot: number, command: Command): Promise<CommandResult> {
    this.#assertAlive(boot);
    command.signal?.throwIfAborted();
    const script = command.program === POWERSHELL ? scriptOf(command.args) : undefined;
    const input = await inputOf(command);
    const call: WindowsCall = { program: command.program, args: command.args, input, script, env: command.env };
    const said = words(call);
    if (!isQuestion(call)) this.#beginEffect(boot, said);
    else this.#killIf('before', said);
    this.calls.push(call);
    const result = this.#answer(call, command);
    for (const stream of ['stdout', 'stderr'] as const) {
      for (const line of result[stream].split(/\r?\n/)) if (line !== '') command.onLine?.(stream, line);
    }
    this.#killIf('after', said);
    return result;
  }

  #answer(call: WindowsCall, command: Command): CommandResult {
    const recording = this.#recordingOf(call);
    if (recording !== undefined) {
      recording.effect?.(this, call);
      if (recording.hangs === true)
        return { status: 1, stdout: '', stderr: '', timedOut: command.timeoutMs !== undefined };
      return {
        status: recording.status ?? 0,
        stdout: stdoutOf(recording),
        stderr: recording.stderr ?? '',
        timedOut: false,
      };
    }
    const standIn = call.script === undefined ? undefined : this.#standIns.get(call.script);
    if (standIn !== undefined) return standIn(call.input ?? '{}');
    this.#unexpected.push(words(call));
    throw new Error(`no recording fits: ${words(call)}`);
  }

  /** Recordings of the same call answer in turn; the last one stays. */
  #recordingOf(call: WindowsCall): Recording | undefined {
    const fitting = this.#recordings.filter((recording) => fits(recording, call));
    const used = fitting.filter((recording) => this.#answered.has(recording)).length;
    const recording = fitting[Math.min(used, fitting.length - 1)];
    if (recording !== undefined) this.#answered.set(recording, 1);
    return recording;
  }

  #beginEffect(boot: number, said: string): void {
    this.#assertAlive(boot);
    if (this.#killPoint !== undefined && 'effect' in this.#killPoint && this.#killPoint.effect === this.effects + 1) {
      this.#kill(said);
    }
    this.#killIf('before', said);
    this.effects += 1;
  }

  #killIf(when: 'before' | 'after', said: string): void {
    const point = this.#killPoint;
    if (point === undefined || !(when in point)) return;
    const wanted = 'before' in point ? point.before : 'after' in point ? point.after : undefined;
    if (wanted === undefined || !said.includes(wanted) || 'effect' in point) return;
    this.#seen += 1;
    if (this.#seen === (point.nth ?? 1)) this.#kill(said);
  }

  #kill(said: string): never {
    this.#isDead = true;
    throw new MachineKilled(`the machine lost its power at: ${said}`);
  }

  #assertAlive(boot: number): void {
    if (this.#isDead) throw new MachineKilled('the machine has no power');
    if (boot !== this.#boot) throw new MachineKilled('this host is of a boot that has ended');
  }
}

const RELEASED = {
  composed: 'printed alike on every platform: cmd/kubeadm/app/cmd/version.go, component-base/version',
};

/** The programs of a node, as they tell their versions. */
const NODE: readonly Recording[] = [
  { program: 'kubeadm.exe', args: ['version', '-o', 'short'], stdout: 'v1.35.2\n', from: RELEASED },
  { program: 'kubelet.exe', args: ['--version'], stdout: 'Kubernetes v1.35.2\n', from: RELEASED },
  {
    program: 'containerd.exe',
    args: ['--version'],
    stdout: 'containerd github.com/containerd/containerd/v2 v2.1.4 75cb2b7193e4e490e9fbdc236c0e811ccaba3376\n',
    from: { composed: 'containerd cmd/containerd/command/main.go, VersionPrinter' },
  },
];

/** Image-builder's place for what is of Kubernetes, System32 for what is of Windows. */
function placeOf(program: string): string {
  if (/^(kubeadm|kubelet|kubectl|machineadm)\.exe$/.test(program)) return `C:\\k\\${program}`;
  if (/^(containerd|ctr|crictl)\.exe$/.test(program)) return `C:\\Program Files\\containerd\\${program}`;
  return program === 'powershell.exe' ? POWERSHELL : `C:\\Windows\\System32\\${program}`;
}

function fits(recording: Recording, call: WindowsCall): boolean {
  if ('script' in recording) {
    if (call.script !== recording.script.name) return false;
    return recording.request === undefined || same(JSON.parse(call.input ?? '{}'), recording.request);
  }
  const named = recording.program.includes('\\') ? call.program : (call.program.split('\\').at(-1) ?? '');
  return (
    named.toLowerCase() === recording.program.toLowerCase() &&
    same(call.args, recording.args) &&
    (call.input ?? '') === (recording.input ?? '')
  );
}

function same(a: unknown, b: unknown): boolean {
  try {
    assert.deepEqual(a, b);
    return true;
  } catch {
    return false;
  }
}

function stdoutOf(recording: Recording): string {
  if (!('script' in recording) || recording.stdout !== undefined) return recording.stdout ?? '';
  const { script, error, answer } = recording;
  return `${JSON.stringify(error === undefined ? { script: script.name, answer } : { script: script.name, error })}\r\n`;
}

/** `kubeadm.exe join --config …`; a script by its name and what it was given. */
function words({ program, args, input, script }: WindowsCall): string {
  const name = program.split('\\').at(-1) ?? '';
  if (script !== undefined) return `${name} <${script}> ${(input ?? '').trim()}`;
  return [name, ...args].join(' ');
}

/** What the host asks and keeps in order for everything that it does. */
function isHousekeeping(script: string): boolean {
  return /^(read-|facts$|service-(state|events)$|write-security$|flush-volume$)/.test(script);
}

/** What only asks is no effect that a kill could lose. */
function isQuestion({ program, args }: WindowsCall): boolean {
  return isWindowsQuery(program.split('\\').at(-1) ?? '', args);
}

async function inputOf({ input }: Command): Promise<string | undefined> {
  if (input === undefined || typeof input === 'string') return input;
  const pieces: Uint8Array[] = [];
  for await (const piece of input) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

const noNetwork: Host['http'] = async () => ({
  request: async (request) => {
    throw new HttpError('connection', String(request.url), 'nothing can be reached');
  },
  close: async () => {},
});
