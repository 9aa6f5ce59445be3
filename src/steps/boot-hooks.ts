import { posix } from 'node:path';
import { HOOKS_SERVICE } from '@machineadm/document/ownership/paths.ts';
import { selfCommand } from '../host/processes/identity.ts';
import type { BootCommand } from '../host/services/boot-command.ts';
import {
  applyBootUnit,
  type BootUnit,
  type BootUnitPayload,
  inspectBootUnit,
  planBootUnit,
  planBootUnitRemoval,
} from './boot-unit.ts';
import { isAsWritten, type OwnFile, readOwnFile } from './file-difference.ts';
import { HOOKS_LEFT } from './hook-record.ts';
import { BOOT_HOOKS_FILE, BOOT_HOOKS_ID, keptText } from './kept-hooks.ts';
import type { Change, Step } from './step.ts';

export interface BootHooksDesired {
  /** The content of the file; undefined = nothing is to run at every boot. */
  readonly kept: string | undefined;
  readonly boot: BootCommand;
}

export interface BootHooksActual {
  readonly file: OwnFile;
  readonly boot: BootUnit | undefined;
}

export type BootHooksPayload = { readonly kind: 'keep'; readonly content: string } | BootUnitPayload;

/**
 * Writes early hooks of `frequency: Always` to a file for later boots, and removes those of an earlier document. The
 * first time, they are run by the step `hooks-early` like all others.
 */
export const bootHooks: Step<BootHooksDesired, BootHooksActual, BootHooksPayload> = {
  id: 'hooks-boot',
  leaves: HOOKS_LEFT,
  settles: ['daemon-reload'],

  desired(model, facts) {
    const { early } = model.host.hooks;
    const always = early?.frequency === 'Always' && early.commands.length > 0;
    return { kept: always ? keptText(early, facts) : undefined, boot: bootHooksCommand(selfCommand()) };
  },

  async inspect(host, { boot }) {
    return { file: await readOwnFile(host, BOOT_HOOKS_FILE, 0o600), boot: await inspectBootUnit(host, boot) };
  },

  plan({ kept: content }, { file, boot }): readonly Change<BootHooksPayload>[] {
    const id = `${BOOT_HOOKS_ID}/commands`;
    if (content === undefined) {
      const changes = planBootUnitRemoval(BOOT_HOOKS_ID, 'the document runs nothing at every boot', boot);
      if (file.text === undefined) return changes;
      const payload = { kind: 'remove', path: BOOT_HOOKS_FILE } as const;
      return [...changes, { id, summary: `remove ${BOOT_HOOKS_FILE}`, action: 'remove', scope: 'node', payload }];
    }
    const changes = planBootUnit(BOOT_HOOKS_ID, 'run the early hooks at every boot', boot);
    if (isAsWritten(file, content)) return changes;
    const summary = 'keep the early hooks for every boot, readable for root only';
    return [{ id, summary, scope: 'node', payload: { kind: 'keep', content } }, ...changes];
  },

  async apply(host, { payload }) {
    if (payload.kind !== 'keep') return await applyBootUnit(host, payload);
    await host.makeDirectory(posix.dirname(BOOT_HOOKS_FILE), 0o700);
    await host.writeFile({ path: BOOT_HOOKS_FILE, content: payload.content, mode: 0o600 });
  },

  async settled(host, { kept }, execution) {
    for (const directory of [posix.dirname(BOOT_HOOKS_FILE), '/etc']) await host.sync(directory);
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
