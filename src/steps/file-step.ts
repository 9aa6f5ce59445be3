import type { Model } from '@machineadm/document/model.ts';
import type { StepId } from '@machineadm/document/step-ids.ts';
import { describeWrite, type OwnFile as Found, isAsWritten, readOwnFile } from './file-difference.ts';
import { type Change, type FollowUp, owing, type Step } from './step.ts';
import { textDiff } from './text-diff.ts';

/** A file of our own: what is in it is written by us alone, and holds no secret. */
export interface OwnFile {
  readonly path: string;
  /** undefined: the file is not wanted, and removed where it is. */
  readonly content: string | undefined;
  /** What must follow a change of it. */
  readonly owes?: readonly FollowUp[];
}

type FoundFiles = ReadonlyMap<string, Found>;

/**
 * A step that is nothing but files of our own: plan, drift, removal and what must follow come from here. `files` is what
 * the document asks for; undefined leaves all as it is.
 */
export function fileStep(step: {
  readonly id: StepId;
  readonly settles?: readonly FollowUp[];
  files(model: Model): readonly OwnFile[] | undefined;
}): Step<readonly OwnFile[], FoundFiles, OwnFile> {
  const { id, settles } = step;
  return {
    id,
    owned: true,
    ...(settles === undefined ? {} : { settles }),
    desired: (model) => step.files(model),

    async inspect(host, desired) {
      const found = new Map<string, Found>();
      for (const { path } of desired) found.set(path, await readOwnFile(host, path));
      return found;
    },

    plan(desired, actual) {
      return desired.flatMap((file): Change<OwnFile>[] => {
        const { path, content } = file;
        const now = actual.get(path);
        if (now === undefined || isAsWritten(now, content)) return [];
        return [
          {
            id: `${id}${path}`,
            summary: content === undefined ? `remove ${path}` : describeWrite(path, now, content),
            diff: textDiff(now.text ?? '', content ?? ''),
            scope: 'base',
            ...owing(file),
            payload: file,
          },
        ];
      });
    },

    async apply(host, { payload: { path, content } }) {
      if (content === undefined) await host.removeFile(path);
      else await host.writeFile({ path, content, mode: 0o644, directoryMode: 0o755 });
    },

    settled: async (host) => await host.sync('/etc'),
  };
}
