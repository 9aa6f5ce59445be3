import { formatMode } from '@machineadm/document/text/units.ts';
import type { Check } from './controls/control.ts';
import type { FoundFile, Observed } from './observed.ts';
import type { Verdict } from './verdict.ts';

/** The permission bits that a file may have; undefined = not checked. */
export function allowedMode(check: Extract<Check, { kind: 'mode' }>, file: FoundFile): number | undefined {
  if (file.type === 'file') return check.atMost;
  if (check.directories !== undefined) return check.directories;
  // A pattern also matches directories, which it does not mean; an explicit path is meant literally.
  return check.paths.some((path) => path.includes('*')) ? undefined : check.atMost;
}

/** Modes and owners of what exists. */
export function evaluateFiles(
  check: Extract<Check, { kind: 'mode' | 'owner' }>,
  files: readonly FoundFile[],
  seen: Observed,
): Verdict {
  const judged = files.flatMap((file) => {
    if (file.isUnread === true) return [unread(check, file)];
    if (check.kind === 'mode') {
      const allowed = allowedMode(check, file);
      if (allowed === undefined) return [];
      const holds = (file.mode & ~allowed) === 0;
      return [{ file, holds, now: formatMode(file.mode), must: `at most ${formatMode(allowed)}` }];
    }
    const uid = seen.users.get(check.user);
    const gid = seen.groups.get(check.group);
    const holds = file.uid === uid && file.gid === gid;
    return [{ file, holds, now: `${file.uid}:${file.gid}`, must: `${check.user}:${check.group}${ids(uid, gid)}` }];
  });
  if (judged.length === 0) return { state: 'not-applicable', why: `there is no ${check.paths.join(', no ')}` };
  const wrong = judged.filter(({ holds }) => !holds);
  const text = check.kind === 'mode' ? 'mode' : 'owner';
  if (wrong.length > 0) {
    return {
      state: 'fails',
      evidence: wrong.map(({ file, now, must }) => ({ source: file.path, text: `${text} ${now}; it must be ${must}` })),
    };
  }
  return { state: 'holds', evidence: judged.map(({ file, now }) => ({ source: file.path, text: `${text} ${now}` })) };
}

/** Where only the owner of a directory and root reach what is in it, the modes of that give nothing to others. */
function unread({ kind }: Extract<Check, { kind: 'mode' | 'owner' }>, file: FoundFile) {
  const now = `${formatMode(file.mode)}; its contents were not looked at, as it is in a directory of another user`;
  return {
    file,
    holds: kind === 'mode' && (file.mode & 0o077) === 0,
    now,
    must:
      kind === 'mode'
        ? 'closed to others (0700)'
        : 'in a directory of the same owner, so that its contents can be checked',
  };
}

function ids(uid: number | undefined, gid: number | undefined): string {
  return uid === undefined || gid === undefined ? ', which does not exist' : ` (${uid}:${gid})`;
}
