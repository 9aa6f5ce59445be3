import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { CaseRoot } from './case-root.ts';

/** What the metadata service of a case says. */
export const INSTANCE = { 'local-hostname': 'node-1', hostname: 'node-1', rack: 'r7', 'instance-id': 'i-1' };

/** Lines of passwd and group, sudo rules and SSH keys, without comments. */
export function accountsOf(root: CaseRoot): readonly string[] {
  const lines = (path: string): string[] =>
    existsSync(root.outside(path))
      ? readFileSync(root.outside(path), 'utf8')
          .split('\n')
          .filter((line) => line.trim() !== '' && !line.startsWith('#'))
      : [];
  const directory = '/etc/sudoers.d';
  const files = existsSync(root.outside(directory)) ? readdirSync(root.outside(directory)) : [];
  const rules = files.flatMap((name) => lines(`${directory}/${name}`));
  const homes = ['/root', ...readdirSync(root.outside('/home')).map((name) => `/home/${name}`)];
  const keys = homes.flatMap((home) =>
    existsSync(root.outside(`${home}/.ssh`))
      ? lines(`${home}/.ssh/authorized_keys`).map((key) => `${basename(home)} ${key}`)
      : [],
  );
  const locked = lines('/etc/shadow').map((line) =>
    line
      .split(':')
      .slice(0, 2)
      .join(' ')
      .replace(/ !\*?$/, ' locked'),
  );
  return [
    ...lines('/etc/passwd'),
    ...lines('/etc/group'),
    ...locked,
    ...rules.map((rule) => rule.trim()),
    ...keys,
  ].sort();
}

/** Debian's cloud-init with the modules of Cluster API's user data that need no disks and no network. */
export function runCloudInit(
  root: CaseRoot,
  library: string,
  userData: string,
  modules: readonly string[] = ['bootcmd', 'write-files', 'users-groups'],
): void {
  cpSync(join(library, 'etc/cloud'), root.outside('/etc/cloud'), { recursive: true });
  const configuration = [
    'datasource_list: [NoCloud]',
    'network: {config: disabled}',
    `cloud_init_modules: [${modules.join(', ')}]`,
    'cloud_config_modules: [runcmd]',
    'cloud_final_modules: [scripts-user]',
    'system_info: {distro: debian, paths: {cloud_dir: /var/lib/cloud/, templates_dir: /etc/cloud/templates/}}',
  ];
  writeFileSync(root.outside('/etc/cloud/cloud.cfg'), `${configuration.join('\n')}\n`);
  root.shell('mkdir -p /var/lib/cloud/seed/nocloud /run/case');
  writeFileSync(root.outside('/var/lib/cloud/seed/nocloud/user-data'), userData);
  writeFileSync(root.outside('/var/lib/cloud/seed/nocloud/meta-data'), JSON.stringify(INSTANCE));
  const libraries = readdirSync(join(library, 'usr/lib'))
    .map((name) => join(library, 'usr/lib', name))
    .join(':');
  const env = `PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=${join(library, 'usr/lib/python3/dist-packages')} LD_LIBRARY_PATH=${libraries}`;
  for (const stage of ['init --local', 'init', 'modules --mode config', 'modules --mode final']) {
    root.shell(
      `umask 022; ${env} /usr/bin/python3 -m cloudinit.cmd.main ${stage} >>/run/case/cloud-init 2>&1 || { cat /run/case/cloud-init; exit 1; }`,
    );
  }
}
