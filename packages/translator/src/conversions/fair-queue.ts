/** Jobs of many groups: each group in turn gives one, so that none waits for all of another. */
export class FairQueue<T> {
  /** In the order of their turns. A group without jobs is not in it. */
  readonly #groups = new Map<string, T[]>();

  get size(): number {
    let size = 0;
    for (const jobs of this.#groups.values()) size += jobs.length;
    return size;
  }

  add(group: string, job: T): void {
    const jobs = this.#groups.get(group);
    if (jobs === undefined) this.#groups.set(group, [job]);
    else jobs.push(job);
  }

  /** The next job; `mayRun` leaves out groups that have had their share. */
  take(mayRun: (group: string) => boolean): T | undefined {
    for (const [group, jobs] of this.#groups) {
      if (!mayRun(group)) continue;
      const job = jobs.shift();
      this.#groups.delete(group);
      if (jobs.length > 0) this.#groups.set(group, jobs);
      if (job !== undefined) return job;
    }
    return undefined;
  }

  /** Removes a job that nobody waits for any longer. */
  remove(group: string, job: T): void {
    const jobs = this.#groups.get(group);
    const index = jobs?.indexOf(job) ?? -1;
    if (index >= 0) jobs?.splice(index, 1);
    if (jobs?.length === 0) this.#groups.delete(group);
  }
}
