import type { UserModel } from '@machineadm/document/model/index.ts';
import { sudoersTrouble } from '../../content-checks/sudoers.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { UnmetRequirement } from '../../step/index.ts';

export const SUDOERS_MODE = 0o440;

/** The rules of a user in the syntax of sudoers(5); undefined = the file must not exist. */
export function sudoersText({ name, sudo }: Pick<UserModel, 'name' | 'sudo'>): string | undefined {
  if (sudo.length === 0) return undefined;
  return `# Written by machineadm.\n${sudo.map((rule) => `${name} ${rule}\n`).join('')}`;
}

/** Whether sudo is installed, reads the directory, and accepts the rules: checked before any of them is written. */
export async function sudoObstacles(
  host: QueryHost,
  users: readonly UserModel[],
): Promise<readonly UnmetRequirement[]> {
  const granted = users.filter(({ sudo }) => sudo.length > 0);
  if (granted.length === 0) return [];
  if ((await host.which('visudo')) === undefined) {
    return [
      {
        reason: 'SudoMissing',
        what: `sudo is not installed, and ${granted.map(({ name }) => name).join(', ')} would use it`,
        remedy: 'Install sudo, or remove "sudo" from host.users.',
      },
    ];
  }
  const obstacles: UnmetRequirement[] = [];
  if (!(await readsDirectory(host))) {
    obstacles.push({
      reason: 'SudoersInvalid',
      what: 'sudo does not read /etc/sudoers.d on this machine',
      remedy: 'Add the line "@includedir /etc/sudoers.d" to /etc/sudoers with visudo.',
    });
  }
  for (const user of granted) {
    const trouble = await sudoersTrouble(host, sudoersText(user) ?? '');
    if (trouble === undefined) continue;
    obstacles.push({
      reason: 'SudoersInvalid',
      what: `sudo does not understand a rule of ${user.name}: ${trouble}`,
      remedy: 'Correct host.users.sudo; a rule is the part after the user name, such as "ALL=(ALL) NOPASSWD:ALL".',
    });
  }
  return obstacles;
}

/** openSUSE has the vendor's file below /usr/etc; "#includedir" is the older spelling (sudoers(5)). */
async function readsDirectory(host: QueryHost): Promise<boolean> {
  const text = (await host.readText('/etc/sudoers')) ?? (await host.readText('/usr/etc/sudoers')) ?? '';
  return /^[ \t]*[#@]includedir\s+"?\/etc\/sudoers\.d"?\/?\s*$/m.test(text);
}
