import type { PathSegment } from '../diagnostics/index.ts';

interface Branch {
  isMember: boolean;
  readonly children: Map<PathSegment, Branch>;
}

/** A set of paths with lookups independent of its size. */
export class PathSet {
  readonly #root: Branch = { isMember: false, children: new Map() };
  #isEmpty = true;

  constructor(paths: Iterable<readonly PathSegment[]> = []) {
    for (const path of paths) this.add(path);
  }

  add(path: readonly PathSegment[]): void {
    let branch = this.#root;
    for (const segment of path) {
      const child = branch.children.get(segment) ?? { isMember: false, children: new Map() };
      branch.children.set(segment, child);
      branch = child;
    }
    branch.isMember = true;
    this.#isEmpty = false;
  }

  has(path: readonly PathSegment[]): boolean {
    let branch: Branch | undefined = this.#root;
    for (const segment of path) branch = branch?.children.get(segment);
    return branch?.isMember === true;
  }

  /** Whether one of the paths is above this one, below it, or equal. */
  touches(path: readonly PathSegment[]): boolean {
    if (this.#isEmpty) return false;
    let branch: Branch | undefined = this.#root;
    for (const segment of path) {
      if (branch.isMember) return true;
      branch = branch.children.get(segment);
      if (branch === undefined) return false;
    }
    return true;
  }
}
