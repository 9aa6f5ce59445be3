import { parentPort } from 'node:worker_threads';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { checkedDocument, convertSecret, mergedText, renderChecked, wrapConverted } from '../conversions/translate.ts';
import { Kept, type KeptReason } from '../handover/kept.ts';
import { configProblems } from '../provider/check.ts';
import { configUpdateProblem } from '../updates/problem.ts';

/**
 * Conversions run in threads of their own, which are ended when one needs too much: user data is text of whoever may write
 * a KubeadmConfig, and must not keep the translator from answering for others.
 */
const TASKS = {
  convertSecret,
  wrapConverted,
  checkedDocument,
  renderChecked,
  mergedText,
  configProblems,
  configUpdateProblem,
} as const;
export type Tasks = typeof TASKS;

export interface Job {
  readonly task: keyof Tasks;
  readonly args: readonly unknown[];
}

export type Result =
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'kept'; readonly reason: KeptReason; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string };

/** Answers in a worker thread. */
export function serveConversions(): void {
  parentPort?.on('message', ({ task, args }: Job) => {
    parentPort?.postMessage({ kind: 'begun' });
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
