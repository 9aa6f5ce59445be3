/** Lets many pass at a time, or one alone; in the order of their coming. */
export class Gate {
  #inside = 0;
  #tail: Promise<void> = Promise.resolve();
  #left: (() => void) | undefined;

  /** Waits for its turn; the function returned leaves. */
  async enter(alone: boolean): Promise<() => void> {
    const before = this.#tail;
    const turn = Promise.withResolvers<void>();
    this.#tail = turn.promise;
    await before;
    if (alone) await this.#empty();
    this.#inside += 1;
    if (!alone) turn.resolve();
    return () => {
      this.#inside -= 1;
      if (alone) turn.resolve();
      if (this.#inside === 0) this.#left?.();
    };
  }

  async #empty(): Promise<void> {
    if (this.#inside === 0) return;
    await new Promise<void>((resolve) => {
      this.#left = resolve;
    });
    this.#left = undefined;
  }
}
