import * as z from 'zod';
import { type Api, isStatus } from './api.ts';
import { pause } from './leader.ts';

const List = z.looseObject({
  metadata: z.looseObject({ resourceVersion: z.string().optional(), continue: z.string().optional() }),
  items: z.array(z.unknown()),
});
const Versioned = z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string().optional() }) });

/** Objects of one kind, and what is done with them. */
export interface Collection {
  /** Asked for each list: the version that is served may change. */
  path(): Promise<string>;
  /** Called after a list whose path was not found. */
  forget?(): void;
  readonly query?: Readonly<Record<string, string>>;
  /** A page of a list; the next one is read afterwards. Throws for what nobody understands. */
  page(items: readonly unknown[]): Promise<void> | void;
  /** All pages were read. */
  listed?(): void;
  /** A change. Throws for what nobody understands: everything is listed again. */
  changed(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: unknown): void;
  failed(error: unknown): void;
}

export interface FollowOptions {
  /** Everything is listed again after so long, in case a change was lost. */
  readonly resyncMs: number;
  /** Before a failed list or watch is tried again. */
  readonly retryMs: number;
}

const PAGE = '200';

/** Lists a collection and follows its changes, until the signal ends it. Never throws. */
export async function follow(
  api: Api,
  collection: Collection,
  { resyncMs, retryMs }: FollowOptions,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const round = AbortSignal.any([signal, AbortSignal.timeout(resyncMs)]);
    try {
      const path = await collection.path();
      const version = await list(api, path, collection, round);
      await watch(api, path, version, collection, retryMs, round);
    } catch (error) {
      if (signal.aborted) return;
      if (isStatus(error, 404)) collection.forget?.();
      collection.failed(error);
      await pause(retryMs, signal);
    }
  }
}

/** Gives the version from which to watch. */
async function list(api: Api, path: string, collection: Collection, signal: AbortSignal): Promise<string | undefined> {
  let next = '';
  let version: string | undefined;
  do {
    const query = { ...collection.query, limit: PAGE, ...(next === '' ? {} : { continue: next }) };
    const { metadata, items } = List.parse(await api.request({ path, query, signal }));
    await collection.page(items);
    version ??= metadata.resourceVersion;
    next = metadata.continue ?? '';
  } while (next !== '' && !signal.aborted);
  collection.listed?.();
  return version;
}

/** Watches until the resync is due, or a watch says that the version is too old. */
async function watch(
  api: Api,
  path: string,
  from: string | undefined,
  collection: Collection,
  retryMs: number,
  signal: AbortSignal,
): Promise<void> {
  let version = from;
  while (!signal.aborted && version !== undefined) {
    let isExpired = false;
    const beganAt = performance.now();
    await api.watch(
      path,
      { ...collection.query, resourceVersion: version, allowWatchBookmarks: 'true' },
      ({ type, object }) => {
        const { success, data } = Versioned.safeParse(object);
        if (type === 'ERROR' || !success) {
          isExpired = true;
          return;
        }
        version = data.metadata.resourceVersion ?? version;
        if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED') return;
        try {
          collection.changed(type, object);
        } catch {
          isExpired = true;
        }
      },
      signal,
    );
    if (isExpired) return;
    // A server that ends each watch at once is not asked all the time.
    if (performance.now() - beganAt < retryMs) await pause(retryMs, signal);
  }
}
