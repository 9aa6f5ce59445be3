import type { Model } from '@machineadm/document/model/index.ts';
import type { DropInKind } from '@machineadm/document/ownership/drop-ins.ts';
import type { StepId } from '@machineadm/document/ownership/step-ids.ts';
import type { FeatureStep } from '../step/feature-step.ts';
import { type Change, type FollowUp, owing } from '../step/index.ts';
import { isAt } from '../step/wants.ts';
import { describeWrite, type OwnFile as Found, isAsWritten, readOwnFile } from './difference.ts';
import { isInImage, readImageDropIns } from './image-drop-ins.ts';
import { textDiff } from './text-diff.ts';

/** A file that only machineadm writes and that contains no secrets. */
export interface OwnFile {
  readonly path: string;
  /** undefined: the file is not wanted; an existing one is removed. */
  readonly content: string | undefined;
  /** What must follow a change of the file. */
  readonly owes?: readonly FollowUp[];
  /** Set for a drop-in of a machine's document: the file is not wanted where the image has all its lines. */
  readonly beside?: DropInKind;
}

type FoundFiles = ReadonlyMap<string, Found & { readonly isInImage?: boolean }>;

/**
 * Makes a step that only writes files of our own. Plan, drift detection, removal and follow-ups are the same for all
 * such steps. `files` returns what the document asks for; undefined changes nothing.
 */
export function fileStep(step: {
  readonly id: StepId;
  readonly section: FeatureStep['section'];
  readonly settles?: readonly FollowUp[];
  files(model: Model): readonly OwnFile[] | undefined;
}): FeatureStep<readonly OwnFile[], FoundFiles, OwnFile> {
  const { id, section, settles } = step;
  const owned = (model: Model): readonly string[] => (step.files(model) ?? []).map(({ path }) => path);
  return {
    id,
    section,
    isRequested: (model, { name }) => owned(model).some((path) => isAt(path, name)),
    owned,
    ...(settles === undefined ? {} : { followUps: { settles } }),
    desired: (model) => step.files(model),

    async inspect(host, desired, record) {
      const found = new Map<string, Found & { isInImage: boolean }>();
      for (const { path, content, beside } of desired) {
        const image = beside === undefined ? [] : await readImageDropIns(host, beside, record);
        found.set(path, { ...(await readOwnFile(host, path)), isInImage: isInImage(content ?? '', image) });
      }
      return found;
    },

    plan(desired, actual) {
      return desired.flatMap((file): Change<OwnFile>[] => {
        const { path } = file;
        const now = actual.get(path);
        const content = now?.isInImage === true ? undefined : file.content;
        if (now === undefined || isAsWritten(now, content)) return [];
        return [
          {
            id: `${id}${path}`,
            summary: content === undefined ? `remove ${path}` : describeWrite(path, now, content),
            diff: textDiff(now.text ?? '', content ?? ''),
            scope: 'base',
            ...owing(file),
            payload: { ...file, content },
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
