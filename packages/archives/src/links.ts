import { ArchiveRefusal } from './member.ts';

/** As in Linux: what leads through more links is not followed (path_resolution(7)). */
const MOST_LINKS = 40;
/** Steps through directories for all links of an archive together. */
const MOST_STEPS = 200_000;

/**
 * Follows links as the kernel does: `..` leaves the directory to which a link before it led, and not the one that is written
 * before it. Gives a function that says whether a link leads out of the directory that its path is relative to; it throws
 * `ArchiveRefusal` where links are tangled so that this takes too long.
 *
 * @param linkAt the target of the link at a path, where one is there
 */
export function linkFollower(
  linkAt: (path: string) => Promise<string | undefined>,
): (path: string, target: string) => Promise<boolean> {
  let steps = 0;
  return async (path, target) => {
    if (target.startsWith('/')) return true;
    const at = path.split('/').slice(0, -1);
    const rest = target.split('/').reverse();
    for (let links = 0; rest.length > 0; ) {
      const name = rest.pop();
      if (name === undefined || name === '' || name === '.') continue;
      steps += 1;
      if (steps > MOST_STEPS) throw new ArchiveRefusal('its links lead through too many others');
      if (name === '..') {
        if (at.pop() === undefined) return true;
        continue;
      }
      at.push(name);
      const next = await linkAt(at.join('/'));
      if (next === undefined) continue;
      links += 1;
      // Such a link leads nowhere.
      if (links > MOST_LINKS) return false;
      if (next.startsWith('/')) return true;
      at.pop();
      rest.push(...next.split('/').reverse());
    }
    return false;
  };
}
