import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join, relative } from 'node:path';
import type { Mutant } from './mutants.ts';

/** What the whole run was allowed is over. */
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
  /** Default: none; the tests run as ever, and can leave their coverage. */
  readonly cage?: 'unit' | 'integration';
  readonly limitMs: number;
}

const LONGEST_MS = 600_000;

/** What a mutant starts ends with it. */
const OWN_PROCESSES = ['--mount', '--pid', '--fork', '--kill-child=SIGKILL', '--mount-proc'];

/** Integration tests make machines of their own, and so may do all but what no namespace keeps from this machine. */
const WITHOUT_CLOCK_AND_MODULES = ['setpriv', '--bounding-set=-sys_time,-sys_module,-sys_boot'];

/** The root file system is read-only, /tmp an empty one. */
// A checkout below /tmp is held by the working directory, and put back: its name alone would be that of nothing.
const CAGED = `mount -t tmpfs tmpfs /tmp &&
  case "$PWD" in /tmp/*)
    mkdir -p "$PWD" && mount --no-canonicalize --bind . "$PWD" && mount -o remount,bind,ro "$PWD" && cd "$PWD" ;;
  esac &&
  mount -o remount,bind,ro /`;

/** Beside that, integration tests may write what belongs to a running machine, and have a network of their own. */
const CAGED_WITH_RUN = `mount -t tmpfs -o mode=755 tmpfs /run && mount -t tmpfs tmpfs /var/tmp && ip link set lo up`;

const CAGES: Readonly<Record<'unit' | 'integration', readonly string[]>> = {
  unit: [...OWN_PROCESSES, 'sh', '-c', `${CAGED} && exec "$0" "$@"`],
  integration: [
    ...['--net', '--uts', '--ipc', ...OWN_PROCESSES],
    ...['sh', '-c', `${CAGED} && ${CAGED_WITH_RUN} && exec "$0" "$@"`, ...WITHOUT_CLOCK_AND_MODULES],
  ],
};

/** Runs test files of the project, in a cage where namespaces can be made. */
export class TestRunner {
  /** When no further test may run, on the clock of `performance.now()`. */
  deadline = Number.POSITIVE_INFINITY;
  readonly #root: string;
  readonly #cages = new Map<string, boolean>();

  constructor(root: string) {
    this.#root = root;
  }

  /** Whether this machine has what the cage is made of. */
  canCage(cage: 'unit' | 'integration'): boolean {
    const known = this.#cages.get(cage);
    const can = known ?? (process.getuid?.() === 0 && spawnSync('unshare', [...CAGES[cage], 'true']).status === 0);
    this.#cages.set(cage, can);
    return can;
  }

  /**
   * Runs test files in one process until the first test fails.
   *
   * @throws TimeIsUp at the deadline
   */
  async run(files: readonly string[], { mutant, environment, cage, limitMs }: RunOptions): Promise<Verdict> {
    const node = [
      process.execPath,
      ...['--test', '--test-isolation=none', `--test-reporter=${join(this.#root, 'scripts/mutate/first-failure.ts')}`],
      ...['--test-reporter-destination=stdout', ...files],
    ];
    // What a test starts of the project has the mutant, too, and prints nothing else than it would without.
    // Run from a test, it would report to that one's runner.
    const { NODE_TEST_CONTEXT: _, ...inherited } = process.env;
    const env = {
      ...inherited,
      NODE_V8_COVERAGE: '',
      MACHINEADM_MUTANT: mutant === undefined ? '' : JSON.stringify({ ...mutant, path: join(this.#root, mutant.file) }),
      NODE_OPTIONS: `--disable-warning=ExperimentalWarning --import=${join(this.#root, 'scripts/mutate/mutate-module.ts')}`,
      ...environment,
    };
    const isCaged = cage !== undefined && this.canCage(cage);
    const [program = '', ...args] = isCaged ? ['unshare', ...CAGES[cage], ...node] : node;
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
      Math.min(limitMs, left, LONGEST_MS),
    );
    const [status]: unknown[] = await once(child, 'close');
    clearTimeout(timer);
    if (isLate && performance.now() >= this.deadline) throw new TimeIsUp();
    const by = relative(this.#root, output.trim().split('\n').at(-1) ?? '');
    return { end: isLate ? 'timeout' : status === 0 ? 'passed' : 'failed', ms: performance.now() - begun, by };
  }
}
