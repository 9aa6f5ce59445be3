import { HOOKS_DIRECTORY, HOOKS_SERVICE } from '@machineadm/document/ownership/paths.ts';
import { selfCommand } from '../../host/processes/identity.ts';
import type { BootCommand } from '../../host/seam/services.ts';
import { readSealedText, writeSealed } from '../../host/secrets/sealed-files.ts';
import {
  applyBootUnit,
  type BootUnit,
  type BootUnitPayload,
  inspectBootUnit,
  planBootUnit,
  planBootUnitRemoval,
} from '../../owned-files/boot-unit.ts';
import { isAsWritten, type OwnFile, readOwnFile } from '../../owned-files/difference.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Change } from '../../step/index.ts';
import { BOOT_HOOKS_ID, bootHooksFile, isBootHooksFile, keptText } from './kept.ts';
import { HOOKS_LEFT } from './record.ts';

export interface BootHooksDesired {
  /** The file of the document. */
  readonly path: string;
  /** The content of the file; undefined = nothing is to run at every boot. */
  readonly kept: string | undefined;
  readonly boot: BootCommand;
}

export interface BootHooksActual {
  readonly file: OwnFile;
  /** The file in which an earlier version kept the hooks of this document. */
  readonly obsolete: string | undefined;
  /** Whether another document of this machine has such hooks: they need the unit, too. */
  readonly hasOthers: boolean;
  readonly boot: BootUnit | undefined;
}

export type BootHooksPayload =
  | { readonly kind: 'keep'; readonly path: string; readonly content: string }
  | BootUnitPayload;

/**
 * Writes early hooks of `frequency: Always` to a file for later boots, and removes those of an earlier document. The
 * first time, they are run by the step `hooks-early` like all others.
 */
export const bootHooks: FeatureStep<BootHooksDesired, BootHooksActual, BootHooksPayload> = {
  id: 'hooks-boot',
  restoring: {
    async withDocument(host, memory, name) {
      const path = bootHooksFile(name);
      if (!memory.acted.has('hooks-boot') || (await host.stat(path)) === undefined) return [];
      return [{ summary: `remove ${path}`, perform: (changing) => changing.removeFile(path) }];
    },
  },
  section: 'host.hooks.early',
  isRequested: STAYS,
  leaves: HOOKS_LEFT,
  followUps: { settles: ['daemon-reload'] },

  desired(model, facts) {
    const { early } = model.host.hooks;
    const always = early?.frequency === 'Always' && early.commands.length > 0;
    const { name } = model.metadata;
    return {
      path: bootHooksFile(name),
      kept: always ? keptText(name, early, facts) : undefined,
      boot: bootHooksCommand(selfCommand()),
    };
  },

  async inspect(host, { path, boot }, record) {
    const files = ((await host.list(HOOKS_DIRECTORY)) ?? []).filter(isBootHooksFile);
    const earlier = bootHooksFile(undefined);
    const isOurs = record.memory().acted.has('hooks-boot');
    const obsolete = isOurs && files.some((name) => `${HOOKS_DIRECTORY}/${name}` === earlier) ? earlier : undefined;
    return {
      // One that cannot be decrypted any more is written again.
      file: await readOwnFile(host, path, 0o600, (from) => readSealedText(host, from).catch(() => '')),
      obsolete,
      hasOthers: files.some((name) => ![path, obsolete].includes(`${HOOKS_DIRECTORY}/${name}`)),
      boot: await inspectBootUnit(host, boot),
    };
  },

  plan({ path, kept: content }, { file, obsolete, hasOthers, boot }): readonly Change<BootHooksPayload>[] {
    const id = `${BOOT_HOOKS_ID}/commands`;
    const remove = (gone: string): Change<BootHooksPayload> => ({
      id: gone === path ? id : `${id}/earlier`,
      summary: `remove ${gone}`,
      action: 'remove',
      scope: 'node',
      payload: { kind: 'remove', path: gone },
    });
    const earlier = obsolete === undefined ? [] : [remove(obsolete)];
    if (content === undefined) {
      const changes = hasOthers
        ? []
        : planBootUnitRemoval(BOOT_HOOKS_ID, 'the document runs nothing at every boot', boot);
      return [...changes, ...(file.text === undefined ? [] : [remove(path)]), ...earlier];
    }
    const changes = [...planBootUnit(BOOT_HOOKS_ID, 'run the early hooks at every boot', boot), ...earlier];
    if (isAsWritten(file, content)) return changes;
    const summary = 'keep the early hooks for every boot, readable for root only';
    return [{ id, summary, scope: 'node', payload: { kind: 'keep', path, content } }, ...changes];
  },

  async apply(host, { payload }) {
    if (payload.kind !== 'keep') return await applyBootUnit(host, payload);
    const { path, content } = payload;
    await host.makeDirectory(HOOKS_DIRECTORY, 0o700);
    await writeSealed(host, path, content);
  },

  async settled(host, { kept }, execution) {
    for (const directory of [HOOKS_DIRECTORY, '/etc']) await host.sync(directory);
    if (kept !== undefined && host.bootFile(bootHooksCommand(selfCommand())) === undefined)
      execution.warn('there is no service manager that could run the early hooks at every boot');
  },
};

/**
 * Runs the kept hooks once a boot, before the container runtime and the kubelet are started: what they prepare is there
 * in time, as with cloud-init's `bootcmd`. A hook that fails does not keep the node from coming up.
 *
 * @param command absolute path of the program and the arguments that stand for machineadm
 */
export function bootHooksCommand(command: readonly string[]): BootCommand {
  return {
    name: HOOKS_SERVICE,
    description: 'Run the early hooks of the bootstrap document that are for every boot',
    command: [...command, 'hooks', 'run', 'early'],
    before: ['containerd', 'kubelet'],
    mayGainPrivileges: true,
  };
}
