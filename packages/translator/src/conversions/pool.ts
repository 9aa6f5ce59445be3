import { Worker } from 'node:worker_threads';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { Kept } from '../handover/kept.ts';
import type { Job, Result, Tasks } from '../worker/tasks.ts';
import { CheckedDocuments, ConversionCache } from './cache.ts';
import { FairQueue } from './fair-queue.ts';

/**
 * Runs the conversions of this translator. The namespaces take turns. Throws `Kept`, and `TooExpensive` where one needed more
 * time than its budget.
 */
export type Conversions = {
  readonly [Name in Exclude<keyof Tasks, 'checkedDocument' | 'renderChecked'>]: InTurn<Name>;
} & { close(): Promise<void> };

type InTurn<Name extends keyof Tasks> = (
  namespace: string,
  deadline: AbortSignal,
  ...args: Parameters<Tasks[Name]>
) => ReturnType<Tasks[Name]>;

export interface PoolOptions {
  /** The file that calls `serveConversions`. */
  readonly program: string;
  readonly workers: number;
  /** The most time that one conversion may run, without the time that it waits. */
  readonly budgetMs: number;
}

interface Waiting {
  readonly group: string;
  readonly job: Job;
  readonly settle: (result: Result | Kept) => void;
}

interface Running {
  readonly waiting: Waiting;
  /** Begins when the thread begins the job: a new thread needs time to start. */
  budget: NodeJS.Timeout | undefined;
  since: number;
}

/** A namespace with a conversion that took longer may not occupy every worker for a while. */
const SLOW_MS = 1_000;
const RESTRICTED_MS = 60_000;
/** After so long another thread starts, where conversions wait. */
const GROW_MS = 500;
const MANY = 8;
/** A further thread without work ends after so long. */
const IDLE_MS = 60_000;

/** Conversions in a few worker threads, fair by namespace: one Secret delays no other for longer than its budget. */
export function conversionPool({ program, workers, budgetMs }: PoolOptions): Conversions {
  const queue = new FairQueue<Waiting>();
  const idle: Worker[] = [];
  const running = new Map<Worker, Running>();
  const perGroup = new Map<string, number>();
  /** Namespaces with slow conversions, and until when they are restricted. */
  const restricted = new Map<string, number>();
  const cache = new ConversionCache();
  const documents = new CheckedDocuments();
  /** Looks whether another thread is needed. */
  let growing: NodeJS.Timeout | undefined;
  let shrinking: NodeJS.Timeout | undefined;
  let isClosed = false;

  const finish = (worker: Worker, result: Result | Kept): void => {
    const done = running.get(worker);
    if (done === undefined) return;
    clearTimeout(done.budget);
    running.delete(worker);
    const { group, settle } = done.waiting;
    if (performance.now() - done.since > SLOW_MS) restricted.set(group, performance.now() + RESTRICTED_MS);
    const left = (perGroup.get(group) ?? 1) - 1;
    if (left === 0) perGroup.delete(group);
    else perGroup.set(group, left);
    settle(result);
  };
  /** A conversion that takes long, or many that wait, are worth the memory of another thread. */
  const grow = (): void => {
    growing = undefined;
    if (isClosed || queue.size === 0 || idle.length > 0 || running.size >= workers) return;
    const isSlow = [...running.values()].some(({ since }) => performance.now() - since > GROW_MS / 2);
    if (isSlow || queue.size > MANY) idle.push(start());
    next();
  };
  const shrink = (): void => {
    if (idle.length > 0 && idle.length + running.size > 1) void idle.shift()?.terminate();
  };
  /** Ends a worker whose conversion takes too long; the next one has a new thread. */
  const end = (worker: Worker, why: Kept): void => {
    void worker.terminate();
    // Behind those that are warm.
    if (!isClosed) idle.unshift(start());
    finish(worker, why);
    next();
  };
  const start = (): Worker => {
    const worker = new Worker(program, {
      // A Secret of the largest size, 1 MiB, needs less than half of it.
      resourceLimits: { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 8 },
    });
    const gone = (message: string): void => {
      if (idle.includes(worker)) idle.splice(idle.indexOf(worker), 1);
      finish(worker, { kind: 'failed', message });
      next();
    };
    return worker
      .on('message', (result: Result | { readonly kind: 'begun' }) => {
        const current = running.get(worker);
        if (current === undefined) return;
        if (result.kind === 'begun') {
          const why = new Kept('TooExpensive', `the conversion took more than ${budgetMs / 1000} s`);
          current.budget = setTimeout(() => end(worker, why), budgetMs);
          current.since = performance.now();
          return;
        }
        idle.push(worker);
        finish(worker, result);
        clearTimeout(shrinking);
        shrinking = setTimeout(shrink, IDLE_MS).unref();
        next();
      })
      .on('error', (error) => gone(errorMessage(error)))
      .once('exit', () => gone('the conversion was ended'));
  };
  const next = (): void => {
    while (!isClosed && (idle.length > 0 || running.size === 0)) {
      const now = performance.now();
      for (const [group, until] of restricted) if (until < now) restricted.delete(group);
      const most = Math.max(1, workers - 1);
      const waiting = queue.take((group) => !restricted.has(group) || (perGroup.get(group) ?? 0) < most);
      if (waiting === undefined) return;
      const worker = idle.pop() ?? start();
      running.set(worker, { waiting, budget: undefined, since: Number.POSITIVE_INFINITY });
      perGroup.set(waiting.group, (perGroup.get(waiting.group) ?? 0) + 1);
      worker.postMessage(waiting.job);
    }
    if (queue.size > 0 && running.size < workers) growing ??= setTimeout(grow, GROW_MS);
  };
  // A thread needs a moment to start, which no Secret should wait for. It takes 50 MiB, so others start when needed.
  idle.push(start());
  const run = async (group: string, deadline: AbortSignal, job: Job): Promise<unknown> => {
    deadline.throwIfAborted();
    const listening = new AbortController();
    const result = await new Promise<Result | Kept>((settle) => {
      const waiting: Waiting = { group, job, settle };
      const abandon = (): void => {
        queue.remove(group, waiting);
        const worker = [...running].find(([, one]) => one.waiting === waiting)?.[0];
        const late = new Kept('TimedOut', 'the translator was too slow');
        if (worker === undefined) settle(late);
        else end(worker, late);
      };
      deadline.addEventListener('abort', abandon, { signal: listening.signal });
      queue.add(group, waiting);
      next();
    });
    listening.abort();
    if (result instanceof Kept) throw result;
    if (result.kind === 'kept') throw new Kept(result.reason, result.message);
    if (result.kind === 'failed') throw new Error(result.message);
    return result.value;
  };
  const through = <Name extends keyof Tasks>(task: Name): InTurn<Name> =>
    (async (group: string, deadline: AbortSignal, ...args: Parameters<Tasks[Name]>) =>
      await run(group, deadline, { task, args })) as InTurn<Name>;
  return {
    convertSecret: (group, deadline, ...args) =>
      cache.through(args, deadline, () => through('convertSecret')(group, deadline, ...args)),
    async wrapConverted(group, deadline, converted, options) {
      const checked = await documents.through(converted, options, deadline, () =>
        through('checkedDocument')(group, deadline, converted, options),
      );
      return await through('renderChecked')(group, deadline, checked, options);
    },
    configProblems: through('configProblems'),
    configUpdateProblem: through('configUpdateProblem'),
    mergedText: through('mergedText'),
    async close() {
      isClosed = true;
      clearTimeout(growing);
      clearTimeout(shrinking);
      await Promise.all([...idle, ...running.keys()].map((worker) => worker.terminate()));
    },
  };
}
