import { type RequestOptions, request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';

const INTERVAL_MS = 200;

/** The times in which something did not answer, of one lap. */
export interface Downtime {
  readonly probes: number;
  readonly failed: number;
  /** Seconds from the start of the first failed probe to the end of the next that succeeded: of all gaps, and the longest. */
  readonly sum: number;
  readonly longest: number;
}

/** Repeats a probe about every 200 ms until it is disposed of, and measures the gaps between answers. */
export class Prober {
  readonly #probe: () => Promise<boolean>;
  readonly #stopped = new AbortController();
  readonly #done: Promise<void>;
  #gaps: number[] = [];
  #probes = 0;
  #failed = 0;
  #since: number | undefined;

  constructor(probe: () => Promise<boolean>) {
    this.#probe = probe;
    this.#done = this.#run();
  }

  /** The downtime since the lap before. A gap that has not ended counts until now. */
  lap(): Downtime {
    const now = performance.now();
    if (this.#since !== undefined) this.#gaps.push(now - this.#since);
    const [gaps, probes, failed] = [this.#gaps, this.#probes, this.#failed];
    [this.#gaps, this.#probes, this.#failed] = [[], 0, 0];
    this.#since = this.#since === undefined ? undefined : now;
    const seconds = (ms: number) => Math.round(ms / 100) / 10;
    return { probes, failed, sum: seconds(gaps.reduce((a, b) => a + b, 0)), longest: seconds(Math.max(0, ...gaps)) };
  }

  async #run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      const began = performance.now();
      const succeeded = await this.#probe();
      const ended = performance.now();
      this.#probes += 1;
      if (!succeeded) {
        this.#failed += 1;
        this.#since ??= began;
      } else if (this.#since !== undefined) {
        this.#gaps.push(ended - this.#since);
        this.#since = undefined;
      }
      await sleep(Math.max(0, INTERVAL_MS - (ended - began)));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort();
    await this.#done;
  }
}

/** An answer; `refused`: the connection was refused or cut; `silent`: nothing came in time. */
export type HttpsAnswer = { readonly status: number; readonly text: string } | 'refused' | 'silent';

/** Sends a request over a connection of its own. */
export async function askHttps(
  options: RequestOptions,
  { body, timeoutMs }: { readonly body?: string; readonly timeoutMs: number },
): Promise<HttpsAnswer> {
  return await new Promise((resolve) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const failed = () => resolve(signal.aborted ? 'silent' : 'refused');
    const call = request({ ...options, agent: false, signal }, (answer) => {
      let text = '';
      answer
        .setEncoding('utf8')
        .on('data', (part: string) => {
          text += part;
        })
        .on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
        .on('error', failed);
    });
    call.on('error', failed);
    call.end(body);
  });
}

/** Whether an answer is a success. */
export function isOk(answer: HttpsAnswer): boolean {
  return typeof answer === 'object' && answer.status === 200;
}
