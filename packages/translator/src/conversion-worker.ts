import { parentPort, Worker } from 'node:worker_threads';
import { errorMessage } from '@machineadm/document/errors.ts';
import { Kept, type KeptReason } from './kept.ts';
import { convertSecret, wrapConverted } from './translate.ts';

/**
 * Conversions run in their own thread, which is ended when one takes too long: user data is text of whoever may write
 * a KubeadmConfig, and must not keep the translator from answering for others.
 */
const TASKS = { convertSecret, wrapConverted } as const;
type Tasks = typeof TASKS;

interface Job {
  readonly task: keyof Tasks;
  readonly args: readonly unknown[];
}

type Result =
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'kept'; readonly reason: KeptReason; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string };

/** Runs the conversions of this translator. */
export interface Conversions {
  readonly convertSecret: (
    deadline: AbortSignal,
    ...args: Parameters<Tasks['convertSecret']>
  ) => ReturnType<Tasks['convertSecret']>;
  readonly wrapConverted: (
    deadline: AbortSignal,
    ...args: Parameters<Tasks['wrapConverted']>
  ) => ReturnType<Tasks['wrapConverted']>;
  close(): Promise<void>;
}

/** Answers in a worker thread; the main program calls it where it is one. */
export function serveConversions(): void {
  parentPort?.on('message', ({ task, args }: Job) => {
    void run(task, args).then((result) => parentPort?.postMessage(result));
  });
}

async function run(task: keyof Tasks, args: readonly unknown[]): Promise<Result> {
  try {
    const work: (...args: never[]) => Promise<unknown> = TASKS[task];
    return { kind: 'done', value: await Reflect.apply(work, undefined, args) };
  } catch (error) {
    if (error instanceof Kept) return { kind: 'kept', reason: error.reason, message: error.message };
    return { kind: 'failed', message: errorMessage(error) };
  }
}

/** Conversions in one worker thread, one after the other. `program` is the file whose worker calls `serveConversions`. */
export function conversionsIn(program: string): Conversions {
  let worker: Worker | undefined;
  let previous: Promise<unknown> = Promise.resolve();

  const start = (): Worker => {
    const started = new Worker(program, {
      // A Secret of the largest size, 1 MiB, needs less than half of it.
      resourceLimits: { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 16 },
    });
    // A worker that fails or ends is replaced for the next conversion.
    started
      .on('error', () => undefined)
      .once('exit', () => {
        if (worker === started) worker = undefined;
      });
    return started;
  };
  const one = async (job: Job, deadline: AbortSignal): Promise<unknown> => {
    deadline.throwIfAborted();
    worker ??= start();
    const current = worker;
    const listening = new AbortController();
    const result = await new Promise<Result>((resolve) => {
      const failed = (message: string) => resolve({ kind: 'failed', message });
      const on = (event: 'message' | 'error' | 'exit', receive: (value: unknown) => void): void => {
        current.once(event, receive);
        listening.signal.addEventListener('abort', () => current.off(event, receive));
      };
      // Only this file posts messages there.
      on('message', (answer) => resolve(answer as Result));
      on('error', (error) => failed(errorMessage(error)));
      on('exit', () => failed('the conversion was ended'));
      const end = (): void => {
        if (worker === current) worker = undefined;
        void current.terminate();
      };
      deadline.addEventListener('abort', end, { signal: listening.signal });
      current.postMessage(job);
    });
    listening.abort();
    deadline.throwIfAborted();
    if (result.kind === 'kept') throw new Kept(result.reason, result.message);
    if (result.kind === 'failed') throw new Error(result.message);
    return result.value;
  };
  const queued = async (job: Job, deadline: AbortSignal): Promise<unknown> => {
    const turn = previous.then(() => one(job, deadline));
    previous = turn.catch(() => undefined);
    return await turn;
  };
  return {
    convertSecret: async (deadline, ...args) =>
      (await queued({ task: 'convertSecret', args }, deadline)) as Awaited<ReturnType<Tasks['convertSecret']>>,
    wrapConverted: async (deadline, ...args) =>
      (await queued({ task: 'wrapConverted', args }, deadline)) as Awaited<ReturnType<Tasks['wrapConverted']>>,
    async close() {
      await worker?.terminate();
      worker = undefined;
    },
  };
}
