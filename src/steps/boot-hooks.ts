import { posix } from 'node:path';
import { HOOKS_SERVICE } from '@machineadm/document/ownership/paths.ts';
import { selfCommand } from '../host/processes/identity.ts';
import type { BootCommand, BootFile } from '../host/services/boot-command.ts';
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
  /** undefined: no service manager would run it. */
  readonly boot:
    | {
        readonly wanted: BootFile;
        readonly exists: boolean;
        readonly isRight: boolean;
        readonly isEnabled: boolean;
      }
    | undefined;
}

export type BootHooksPayload =
  | { readonly kind: 'keep'; readonly content: string }
  | { readonly kind: 'unit'; readonly file: BootFile }
  | { readonly kind: 'enable' | 'disable'; readonly service: string }
  | { readonly kind: 'remove'; readonly path: string };

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

  async inspect(host, { kept, boot }) {
    const file = await readOwnFile(host, BOOT_HOOKS_FILE, 0o600);
    const wanted = host.bootFile(boot);
    if (wanted === undefined) return { file, boot: undefined };
    const unit = await readOwnFile(host, wanted.path, wanted.mode);
    const exists = unit.text !== undefined;
    // The service manager is asked only where there is a file, or is to be one.
    if (kept === undefined && !exists) return { file, boot: undefined };
    const isRight = isAsWritten(unit, wanted.content);
    return { file, boot: { wanted, exists, isRight, isEnabled: (await host.service(wanted.service)).enabled } };
  },

  plan({ kept }, { file, boot }) {
    return kept === undefined ? planRemoval(file, boot) : planKeeping(kept, file, boot);
  },

  async apply(host, { payload }) {
    switch (payload.kind) {
      case 'keep':
        await host.makeDirectory(posix.dirname(BOOT_HOOKS_FILE), 0o700);
        return await host.writeFile({ path: BOOT_HOOKS_FILE, content: payload.content, mode: 0o600 });
      case 'unit': {
        const { path, content, mode } = payload.file;
        return await host.writeFile({ path, content, mode });
      }
      case 'enable':
        return await host.services.enable(payload.service);
      case 'disable':
        return await host.services.disable(payload.service);
      case 'remove':
        return await host.removeFile(payload.path);
    }
  },

  async settled(host, { kept }, execution) {
    for (const directory of [posix.dirname(BOOT_HOOKS_FILE), '/etc']) await host.sync(directory);
    if (kept !== undefined && host.bootFile(bootHooksCommand(selfCommand())) === undefined)
      execution.warn('there is no service manager that could run the early hooks at every boot');
  },
};

function planKeeping(
  content: string,
  file: BootHooksActual['file'],
  boot: BootHooksActual['boot'],
): readonly Change<BootHooksPayload>[] {
  const changes: Change<BootHooksPayload>[] = [];
  if (!isAsWritten(file, content)) {
    const summary = 'keep the early hooks for every boot, readable for root only';
    changes.push({ id: `${BOOT_HOOKS_ID}/commands`, summary, scope: 'node', payload: { kind: 'keep', content } });
  }
  if (boot?.isRight === false) {
    const { path } = boot.wanted;
    const payload: BootHooksPayload = { kind: 'unit', file: boot.wanted };
    const summary = `${path}: run the early hooks at every boot`;
    changes.push({
      id: `${BOOT_HOOKS_ID}/unit`,
      summary,
      action: 'add',
      scope: 'node',
      owes: ['daemon-reload'],
      payload,
    });
  }
  if (boot?.isEnabled === false) {
    const { service } = boot.wanted;
    const payload: BootHooksPayload = { kind: 'enable', service };
    changes.push({ id: `${BOOT_HOOKS_ID}/enable`, summary: `enable ${service}`, scope: 'node', payload });
  }
  return changes;
}

function planRemoval(
  file: BootHooksActual['file'],
  boot: BootHooksActual['boot'],
): readonly Change<BootHooksPayload>[] {
  const changes: Change<BootHooksPayload>[] = [];
  if (boot?.isEnabled === true) {
    const { service } = boot.wanted;
    const payload: BootHooksPayload = { kind: 'disable', service };
    changes.push({ id: `${BOOT_HOOKS_ID}/disable`, summary: `disable ${service}`, scope: 'node', payload });
  }
  if (boot?.exists === true) {
    const { path } = boot.wanted;
    const payload: BootHooksPayload = { kind: 'remove', path };
    const summary = `remove ${path}: the document runs nothing at every boot`;
    changes.push({
      id: `${BOOT_HOOKS_ID}/unit`,
      summary,
      action: 'remove',
      scope: 'node',
      owes: ['daemon-reload'],
      payload,
    });
  }
  if (file.text !== undefined) {
    const payload: BootHooksPayload = { kind: 'remove', path: BOOT_HOOKS_FILE };
    const summary = `remove ${BOOT_HOOKS_FILE}`;
    changes.push({ id: `${BOOT_HOOKS_ID}/commands`, summary, action: 'remove', scope: 'node', payload });
  }
  return changes;
}

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
