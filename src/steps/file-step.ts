import type { Model } from '@machineadm/document/model.ts';
import type { StepId } from '@machineadm/document/step-ids.ts';
import { describeWrite, type OwnFile as Found, isAsWritten, readOwnFile } from './file-difference.ts';
import { type Change, type FollowUp, owing, type Step } from './step.ts';
import { textDiff } from './text-diff.ts';

/** A file that only machineadm writes and that contains no secrets. */
export interface OwnFile {
  readonly path: string;
  /** undefined: the file is not wanted; an existing one is removed. */
  readonly content: string | undefined;
  /** What must follow a change of the file. */
  readonly owes?: readonly FollowUp[];
}

type FoundFiles = ReadonlyMap<string, Found>;

/**
 * Makes a step that only writes files of our own. Plan, drift detection, removal and follow-ups are the same for all
 * such steps. `files` returns what the document asks for; undefined changes nothing.
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
