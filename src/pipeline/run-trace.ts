import type { QueryHost } from '../host/seam/host.ts';

/** A change that a step made. */
export interface RecordedChange {
  readonly step: string;
  /** The path or the service; undefined where a program made the change, and what it changed is unknown. */
  readonly name: string | undefined;
}

/**
 * The changes of one run's steps in order, which show what undid an earlier step. Kept in memory; the next run after a
 * kill starts with an empty one, and plans every step again.
 */
export class RunTrace {
  readonly #touches: RecordedChange[] = [];
  /** By step: the number of changes when it was last verified. */
  readonly #inOrder = new Map<string, number>();

  /**
   *
   * @param name an absolute path, or the name of a service; undefined: whatever a change of this step did
   */
  touch(step: string, name?: string): void {
    this.#touches.push({ step, name: name === undefined ? undefined : nameOf(name) });
  }

  /** The step has nothing left to do. */
  inOrder(step: string): void {
    this.#inOrder.set(step, this.#touches.length);
  }

  /** What other steps changed since `step` was last verified. */
  since(step: string): readonly RecordedChange[] {
    return this.#touches.slice(this.#inOrder.get(step) ?? 0).filter((touch) => touch.step !== step);
  }
}

/** A canonical name of a service, without its suffix. */
function nameOf(name: string): string {
  return name.replace(/^([^/]+)\.service$/, '$1');
}

/** The same host, which records the paths and services that are queried. */
export function notingHost<Asked extends QueryHost>(host: Asked, asked: Set<string>): Asked {
  const noted =
    <Rest extends readonly unknown[], Found>(ask: (name: string, ...rest: Rest) => Promise<Found>) =>
    (name: string, ...rest: Rest): Promise<Found> => {
      asked.add(nameOf(name));
      return ask(name, ...rest);
    };
  return {
    ...host,
    readFile: noted((path) => host.readFile(path)),
    readText: noted((path) => host.readText(path)),
    readRange: noted((path, offset: number, length: number) => host.readRange(path, offset, length)),
    openFile: noted((path) => host.openFile(path)),
    stat: noted((path) => host.stat(path)),
    list: noted((path) => host.list(path)),
    sha256: noted((path) => host.sha256(path)),
    service: noted((name) => host.service(name)),
  };
}
