import { Session } from 'node:inspector/promises';

/**
 * Counts the runs of blocks of JavaScript, a cost that depends neither on the machine nor on its load. What built-in
 * functions do inside does not count. It sees only modules that are loaded after it exists.
 */
export class StepCounter implements AsyncDisposable {
  readonly #session: Session;

  private constructor(session: Session) {
    this.#session = session;
  }

  static async start(): Promise<StepCounter> {
    const session = new Session();
    session.connect();
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
    return new StepCounter(session);
  }

  async count(work: () => Promise<unknown>): Promise<number> {
    await this.#session.post('Profiler.takePreciseCoverage');
    await work();
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    const ranges = result.flatMap(({ functions }) => functions).flatMap(({ ranges }) => ranges);
    return ranges.reduce((sum, { count }) => sum + count, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.post('Profiler.stopPreciseCoverage');
    this.#session.disconnect();
  }
}
