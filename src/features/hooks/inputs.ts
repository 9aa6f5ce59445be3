import type { HookGroup } from '@machineadm/document/model/index.ts';
import type { PasswdEntry } from '../../accounts/databases.ts';
import type { Host } from '../../host/seam/host.ts';

/** Names of variables, and their values. */
export type HookEnvironment = Readonly<Record<string, string>>;

/**
 * The variables that the entries of a group see: its phase, what the document sets, and for each secret the path of a file
 * that holds it. A value never is part of a command, where it could be read as one, or of the environment, which every
 * program that an entry starts would inherit.
 *
 * @param put writes a file that only the user of the group reads, beside the entries, and gives back its path
 */
export async function hookEnvironment(
  host: Host,
  phase: string,
  { environment = {}, secrets = {} }: HookGroup,
  put: (name: string, content: string) => Promise<string>,
  account?: PasswdEntry,
): Promise<HookEnvironment> {
  const paths: Record<string, string> = {};
  for (const [index, [name, secret]] of Object.entries(secrets).entries()) {
    paths[name] = await put(`secret-${index + 1}`, (await host.secret(secret)).reveal());
  }
  const own = account === undefined ? {} : { HOME: account.home, USER: account.name, LOGNAME: account.name };
  return { ...own, ...environment, ...paths, MACHINEADM_PHASE: phase };
}
