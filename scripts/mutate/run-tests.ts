import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Mutant } from './mutants.ts';

/** The time limit of the whole run has passed. */
export class TimeIsUp extends Error {}

/** How a run of tests ended. */
export interface Verdict {
  readonly end: 'passed' | 'failed' | 'timeout';
  readonly ms: number;
  /** The test that failed. */
  readonly by: string;
}

export interface RunOptions {
  /** Loaded in the place of its module. */
  readonly mutant?: Mutant;
  readonly environment?: Readonly<Record<string, string>>;
  /** Default: none. */
  readonly sandbox?: 'unit' | 'integration';
  readonly limitMs: number;
}

const MAX_MS = 600_000;

/** A pid namespace, so that all processes of a mutant end with it. */
const OWN_PROCESSES = ['--mount', '--pid', '--fork', '--kill-child=SIGKILL', '--mount-proc'];

/** Integration tests need root privileges for their machines, except for those that no namespace limits to a machine. */
const WITHOUT_CLOCK_AND_MODULES = ['setpriv', '--bounding-set=-sys_time,-sys_module,-sys_boot'];

/** Compiled modules without a mutant. Reading them takes half the time of a small test. */
const COMPILED = 'node_modules/.cache/mutate/compiled';

/** The root file system is read-only except for the cache, and /tmp is an empty one. */
// A checkout below /tmp is hidden by the new /tmp: it is mounted there again through the working directory.
const READ_ONLY_ROOT = `mount --bind ${COMPILED} ${COMPILED} && mount -t tmpfs tmpfs /tmp &&
  case "$PWD" in /tmp/*)
    mkdir -p "$PWD" && mount --no-canonicalize --bind . "$PWD" && mount -o remount,bind,ro "$PWD" && cd "$PWD" ;;
  esac &&
  mount -o remount,bind,ro /`;

/** Integration tests also get writable /run and /var/tmp directories, and a network of their own. */
const WITH_WRITABLE_RUN = `mount -t tmpfs -o mode=755 tmpfs /run && mount -t tmpfs tmpfs /var/tmp && ip link set lo up`;

const SANDBOXES: Readonly<Record<'unit' | 'integration', readonly string[]>> = {
  unit: [...OWN_PROCESSES, 'sh', '-c', `${READ_ONLY_ROOT} && exec "$0" "$@"`],
  integration: [
    ...['--net', '--uts', '--ipc', ...OWN_PROCESSES],
    ...['sh', '-c', `${READ_ONLY_ROOT} && ${WITH_WRITABLE_RUN} && exec "$0" "$@"`, ...WITHOUT_CLOCK_AND_MODULES],
  ],
};

/** Runs test files of the project, in a sandbox where namespaces can be made. */
export class TestRunner {
  /** The time after which no test may run, by `performance.now()`. */
  deadline = Number.POSITIVE_INFINITY;
  readonly #root: string;
  readonly #supported = new Map<string, boolean>();

  constructor(root: string) {
    this.#root = root;
    mkdirSync(join(root, COMPILED), { recursive: true });
  }

  /** Whether this machine supports the namespaces and mounts of the sandbox. */
  canSandbox(sandbox: 'unit' | 'integration'): boolean {
    const known = this.#supported.get(sandbox);
    const can =
      known ??
      (process.getuid?.() === 0 &&
        spawnSync('unshare', [...SANDBOXES[sandbox], 'true'], { cwd: this.#root }).status === 0);
    this.#supported.set(sandbox, can);
    return can;
  }

  /**
   * Runs test files in one process until the first test fails.
   *
   * @throws TimeIsUp at the deadline
   */
  async run(files: readonly string[], { mutant, environment, sandbox, limitMs }: RunOptions): Promise<Verdict> {
    const node = [
      process.execPath,
      ...['--test', '--test-isolation=none', `--test-reporter=${join(this.#root, 'scripts/mutate/first-failure.ts')}`],
      ...['--test-reporter-destination=stdout', ...files],
    ];
    // NODE_OPTIONS also reaches the processes that a test starts, and must not add output to them. With NODE_TEST_CONTEXT,
    // a run within a test would report to the runner of that test.
    const { NODE_TEST_CONTEXT: _, ...inherited } = process.env;
    const env = {
      ...inherited,
      NODE_V8_COVERAGE: '',
      // V8 records the coverage of a function less precisely if its code comes from a cache.
      NODE_COMPILE_CACHE: environment?.NODE_V8_COVERAGE === undefined ? join(this.#root, COMPILED) : '',
      MACHINEADM_MUTANT: mutant === undefined ? '' : JSON.stringify({ ...mutant, path: join(this.#root, mutant.file) }),
      NODE_OPTIONS: `--disable-warning=ExperimentalWarning --import=${join(this.#root, 'scripts/mutate/mutate-module.ts')}`,
      ...environment,
    };
    const isSandboxed = sandbox !== undefined && this.canSandbox(sandbox);
    const [program = '', ...args] = isSandboxed ? ['unshare', ...SANDBOXES[sandbox], ...node] : node;
    const begun = performance.now();
    const left = this.deadline - begun;
    if (left <= 0) throw new TimeIsUp();
    const child = spawn(program, args, { cwd: this.#root, env, stdio: ['ignore', 'pipe', 'ignore'], detached: true });
    let [output, isLate] = ['', false];
    child.stdout.on('data', (data: Buffer) => {
      output = (output + data.toString()).slice(-2_000);
    });
    const timer = setTimeout(
      () => {
        isLate = true;
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      },
      Math.min(limitMs, left, MAX_MS),
    );
    const [status]: unknown[] = await once(child, 'close');
    clearTimeout(timer);
    if (isLate && performance.now() >= this.deadline) throw new TimeIsUp();
    const by = relative(this.#root, output.trim().split('\n').at(-1) ?? '');
    return { end: isLate ? 'timeout' : status === 0 ? 'passed' : 'failed', ms: performance.now() - begun, by };
  }
}
