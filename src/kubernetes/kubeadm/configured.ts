import { member, text } from '@machineadm/document/values/untyped.ts';
import { foreignYamlDocuments } from '@machineadm/document/yaml/foreign-yaml.ts';

/** The flag for phases to skip; it overrides the corresponding field (cobra workflow.Runner). */
const FLAG = '--skip-phases=';

/**
 * The phases that a command will skip: those of the flag, otherwise those of the configuration on disk, which a hook
 * may have changed.
 */
export async function skippedPhases(flags: readonly string[], configuration: string): Promise<readonly string[]> {
  const flag = flags.find((one) => one.startsWith(FLAG));
  if (flag !== undefined) return flag.slice(FLAG.length).split(',');
  const phases = member(await commandConfiguration(configuration), 'skipPhases');
  return Array.isArray(phases) ? phases.filter((phase) => typeof phase === 'string') : [];
}

/** The Node's name in the configuration on disk; undefined: kubeadm uses the host name. */
export async function registeredName(configuration: string): Promise<string | undefined> {
  return text(member(member(await commandConfiguration(configuration), 'nodeRegistration'), 'name'));
}

/** The part of the configuration for the command itself: its InitConfiguration or JoinConfiguration. */
async function commandConfiguration(configuration: string): Promise<unknown> {
  const objects = await foreignYamlDocuments(configuration);
  return objects.find((object) => /^(Init|Join)Configuration$/.test(text(member(object, 'kind')) ?? ''));
}

/** The same flags with these phases skipped. */
export function withSkippedPhases(flags: readonly string[], phases: readonly string[]): readonly string[] {
  const others = flags.filter((flag) => !flag.startsWith(FLAG));
  return phases.length === 0 ? others : [...others, `${FLAG}${[...new Set(phases)].join(',')}`];
}
