import { dirname } from 'node:path/posix';
import type { Host } from '../seam/host.ts';

const ENFORCE = '/sys/fs/selinux/enforce';

/**
 * The same host, which on a machine with SELinux gives what it wrote the labels of the policy: a file that is born under
 * another name and renamed has the label of its directory, and not the one that the policy has for its name. All paths
 * together, before anything is started that may read them, and before they are flushed. What cannot be labelled, as on a file
 * system without labels, stays as it is: a denial has a reason of its own (`SELinuxDenied`).
 */
export function withLabels(host: Host): Host {
  const written = new Set<string>();
  let isEnabled: Promise<boolean> | undefined;
  const hasSelinux = async (): Promise<boolean> =>
    (await host.stat(ENFORCE)) !== undefined && (await host.which('restorecon')) !== undefined;

  /** Makes something at a path, and the directories above it that are not there yet. */
  const noted = async (path: string, make: () => Promise<void>): Promise<void> => {
    isEnabled ??= hasSelinux();
    if (!(await isEnabled)) return await make();
    const paths = [path];
    for (let above = dirname(path); (await host.stat(above)) === undefined; above = dirname(above)) paths.push(above);
    await make();
    for (const one of paths) written.add(one);
  };
  const relabel = async (): Promise<void> => {
    if (written.size === 0) return;
    const input = [...written].map((path) => `${path}\0`).join('');
    written.clear();
    await host.run({ program: 'restorecon', args: ['-i', '-0', '-f', '-'], input, timeoutMs: 60_000 });
  };
  const after = (act: (name: string) => Promise<void>) => async (name: string) => {
    await relabel();
    await act(name);
  };
  const { services } = host;
  return {
    ...host,
    writeFile: (file) => noted(file.path, () => host.writeFile(file)),
    writeLink: (path, target) => noted(path, () => host.writeLink(path, target)),
    async makeDirectory(path, mode) {
      if ((await host.stat(path)) !== undefined) return await host.makeDirectory(path, mode);
      await noted(path, () => host.makeDirectory(path, mode));
    },
    async run(command) {
      await relabel();
      return await host.run(command);
    },
    async sync(path) {
      await relabel();
      await host.sync(path);
    },
    services: {
      ...services,
      reload: async () => {
        await relabel();
        await services.reload();
      },
      start: after((name) => services.start(name)),
      restart: after((name) => services.restart(name)),
    },
  };
}
