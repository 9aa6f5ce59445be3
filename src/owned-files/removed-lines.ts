import type { QueryHost } from '../host/seam/host.ts';
import { UNKNOWN } from '../step/recorded-state.ts';
import type { ResetAction } from '../step/reset-action.ts';
import { rewriteShared } from './marked-block.ts';

/** The removal of the lines that a document has in a file which others share; none if it has none there. */
export async function removedLines(
  host: QueryHost,
  path: string,
  without: (text: string) => string,
): Promise<readonly ResetAction[]> {
  const text = (await host.readText(path)) ?? '';
  if (without(text) === text) return [];
  return [
    {
      summary: `remove the lines of the document from ${path}`,
      resource: `path:${path}`,
      unsettles: [[`path:${path}`, UNKNOWN]],
      perform: (changing) => rewriteShared(changing, path, without),
    },
  ];
}
