/**
 * What a command of a hook may say about its failure: the reason of the run then, instead of HookFailed. The converter
 * writes such commands for what the drop-ins of kubeadm.service ask for.
 */
const REMEDIES = {
  RequiredUnitNotStarted:
    'Read the journal of that unit (journalctl -u UNIT), and correct what it waits for; on Flatcar it asks the metadata service. Then run again.',
  EnvironmentFileMissing:
    'Start the service that writes the file, or correct EnvironmentFile= in the drop-in of kubeadm.service and convert again. Then run again.',
} as const;

export type HookReason = keyof typeof REMEDIES;

/** The line that a command prints before it ends with a failure. */
export function hookReasonLine(reason: HookReason, text: string): string {
  return `machineadm: ${reason}: ${text}`;
}

/** The last such line of an output. */
export function hookReasonIn(
  lines: readonly string[],
): { readonly reason: HookReason; readonly text: string } | undefined {
  for (const line of lines.toReversed()) {
    const [, name = '', text = ''] = /^machineadm: (\w+): (.+)$/.exec(line) ?? [];
    if (Object.hasOwn(REMEDIES, name)) return { reason: name as HookReason, text };
  }
  return undefined;
}

export function remedyOfHookReason(reason: HookReason): string {
  return REMEDIES[reason];
}
