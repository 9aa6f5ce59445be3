import type { Model } from '@machineadm/document/model.ts';
import type { StepId } from '@machineadm/document/step-ids.ts';
import type { FollowUp, Step } from './step.ts';
import { textDiff } from './text-diff.ts';

/** A file of our own: what is in it is written by us alone, and holds no secret. */
export interface OwnFile {
  readonly path: string;
  /** undefined: the file is not wanted, and removed where it is. */
  readonly content: string | undefined;
  /** What must follow a change of it. */
  readonly owes?: readonly FollowUp[];
}

type Texts = ReadonlyMap<string, string | undefined>;

/**
 * A step that is nothing but files of our own: plan, drift, removal and what must follow come from here. `files` is what
 * the document asks for; undefined leaves all as it is.
 */
export function fileStep(step: {
  readonly id: StepId;
  readonly title: string;
  readonly settles?: readonly FollowUp[];
  files(model: Model): readonly OwnFile[] | undefined;
}): Step<readonly OwnFile[], Texts, OwnFile> {
  const { id, title, settles } = step;
  return {
    id,
    title,
    owned: true,
    ...(settles === undefined ? {} : { settles }),
    desired: (model) => step.files(model),

    async inspect(host, desired) {
      const texts = new Map<string, string | undefined>();
      for (const { path } of desired) texts.set(path, await host.readText(path));
      return texts;
    },

    plan(desired, actual) {
      return desired
        .filter(({ path, content }) => actual.get(path) !== content)
        .map((file) => ({
          id: `${id}${file.path}`,
          summary: summaryOf(file, actual.get(file.path)),
          diff: textDiff(actual.get(file.path) ?? '', file.content ?? ''),
          scope: 'base',
          ...(file.owes === undefined ? {} : { owes: file.owes }),
          payload: file,
        }));
    },

    async apply(host, { payload: { path, content } }) {
      if (content === undefined) await host.removeFile(path);
      else await host.writeFile({ path, content, mode: 0o644, directoryMode: 0o755 });
    },

    settled: async (host) => await host.sync('/etc'),
  };
}

function summaryOf({ path, content }: OwnFile, before: string | undefined): string {
  if (content === undefined) return `remove ${path}`;
  return `${before === undefined ? 'write' : 'update'} ${path}`;
}
