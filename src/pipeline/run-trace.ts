import type { QueryHost } from '../host/seam/host.ts';

/** A change that a step made. */
export interface RecordedChange {
  readonly step: string;
  /** The path or the service; undefined where a program made the change, and only it knows what it touched. */
  readonly name: string | undefined;
}

/**
 * What the steps of one run changed, in the order in which it happened: it tells who undid what an earlier step had put
 * in place. Kept in memory; a run that is killed starts with an empty one, and plans every step again.
 */
export class RunTrace {
  readonly #touches: RecordedChange[] = [];
  /** By step: how many touches there were when it was last found in order. */
  readonly #inOrder = new Map<string, number>();

  /** @param name an absolute path, or the name of a service; undefined: whatever a change of this step did */
  touch(step: string, name?: string): void {
    this.#touches.push({ step, name: name === undefined ? undefined : nameOf(name) });
  }

  /** The step has nothing left to do. */
  inOrder(step: string): void {
    this.#inOrder.set(step, this.#touches.length);
  }

  /** What other steps changed since `step` was last found in order. */
  since(step: string): readonly RecordedChange[] {
    return this.#touches.slice(this.#inOrder.get(step) ?? 0).filter((touch) => touch.step !== step);
  }
}

/** One name for a service with and without its suffix. */
function nameOf(name: string): string {
  return name.replace(/^([^/]+)\.service$/, '$1');
}

/** The same host, which notes the paths and services that it is asked for. */
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
    stat: noted((path) => host.stat(path)),
    list: noted((path) => host.list(path)),
    sha256: noted((path) => host.sha256(path)),
    service: noted((name) => host.service(name)),
  };
}
