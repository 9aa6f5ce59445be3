import type { Finding } from '@machineadm/document/diagnostics/index.ts';
import type { FileModel, HostModel, SysctlSetting, UserModel } from '@machineadm/document/model/index.ts';
import { DENIED_MODULES_FILE } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { formatMode } from '@machineadm/document/text/units.ts';
import { contradiction } from './contradiction.ts';
import type { Check, Control } from './controls/control.ts';

/** The host's part of the controls: kernel settings, modules, the accounts that own files. */
export function hardenHost(
  host: HostModel,
  controls: readonly Control[],
): { readonly host: HostModel; readonly findings: readonly Finding[] } {
  const findings: Finding[] = [];
  const sysctl: SysctlSetting[] = [...host.sysctl];
  const modules = new Set(host.kernelModules);
  const denied: string[] = [];
  let { groups, users } = host;
  for (const control of controls) {
    const { check } = control;
    switch (check.kind) {
      case 'sysctl':
        for (const [key, value] of Object.entries(check.values)) {
          const present = sysctl.find((setting) => setting.key === key);
          if (present === undefined) sysctl.push({ key, value, optional: check.optional.includes(key) });
          else if (present.value.trim() !== value) {
            findings.push(contradiction(['host', 'sysctl', key], control, `be ${value}`));
          }
        }
        break;
      case 'modules-loaded':
        for (const module of check.modules) modules.add(module);
        break;
      case 'module-denied':
        if (modules.has(check.module)) {
          const path = ['host', 'kernelModules', host.kernelModules.indexOf(check.module)];
          findings.push(contradiction(path, control, 'not be loaded'));
        } else denied.push(check.module);
        break;
      case 'owner':
        if (check.group !== 'root' && !groups.some(({ name }) => name === check.group)) {
          groups = [...groups, { name: check.group, gid: undefined, system: true }];
        }
        if (check.user !== 'root' && !users.some(({ name }) => name === check.user)) {
          users = [...users, ownerAccount(check)];
        }
        findings.push(...ownersOf(host.files, check, control));
        break;
      case 'mode':
        findings.push(...modesOf(host.files, check, control));
        break;
      case 'services':
        findings.push(...servicesOf(host, check, control));
        break;
    }
  }
  const files = denied.length === 0 ? host.files : [...host.files, denialFile(denied)];
  return { host: { ...host, sysctl, kernelModules: [...modules], groups, users, files }, findings };
}

function denialFile(modules: readonly string[]): FileModel {
  const lines = modules.map((module) => `install ${module} /bin/false\nblacklist ${module}\n`);
  return plainFile(DENIED_MODULES_FILE, `# Written by machineadm.\n${lines.join('')}`, 0o644);
}

/** A file of root with this text. */
function plainFile(path: string, text: string, mode: number): FileModel {
  const content = { kind: 'inline', bytes: new TextEncoder().encode(text) } as const;
  return { path, content, mode, user: 'root', group: 'root', directoryMode: 0o755, append: false };
}

/** An account that only owns files. */
function ownerAccount({ user, group }: Extract<Check, { kind: 'owner' }>): UserModel {
  return {
    name: user,
    uid: undefined,
    gecos: undefined,
    primaryGroup: group,
    groups: [],
    home: '/nonexistent',
    shell: '/usr/sbin/nologin',
    system: true,
    passwordHash: undefined,
    locked: true,
    inactive: false,
    sudo: [],
    sshAuthorizedKeys: undefined,
  };
}

/** A file that the document writes with a wider mode would change back and forth in every run. */
function modesOf(
  files: readonly FileModel[],
  check: Extract<Check, { kind: 'mode' }>,
  control: Control,
): readonly Finding[] {
  return files.flatMap(({ path, mode, keepsMode }, index) => {
    const meant = check.paths.some((pattern) => matchesPattern(pattern, path));
    if (!meant || keepsMode === true || (mode & ~check.atMost) === 0) return [];
    return [contradiction(['host', 'files', index], control, `have a mode of at most "${formatMode(check.atMost)}"`)];
  });
}

function ownersOf(
  files: readonly FileModel[],
  check: Extract<Check, { kind: 'owner' }>,
  control: Control,
): readonly Finding[] {
  return files.flatMap(({ path, user, group, keepsOwner }, index) => {
    const meant = check.paths.some((pattern) => matchesPattern(pattern, path));
    const same = (given: string, wanted: string): boolean => given === wanted || (given === '0' && wanted === 'root');
    if (!meant || keepsOwner === true || (same(user, check.user) && same(group, check.group))) return [];
    return [contradiction(['host', 'files', index], control, `be owned by ${check.user}:${check.group}`)];
  });
}

function servicesOf(
  { services }: HostModel,
  { services: forbidden, must }: Extract<Check, { kind: 'services' }>,
  control: Control,
): readonly Finding[] {
  return services.flatMap(({ name, state, enabled, at }, index) => {
    if (!forbidden.includes(name)) return [];
    const wrong = must === 'not run' ? state === 'Started' : enabled === true;
    return wrong ? [contradiction(['host', 'services', at ?? index], control, must)] : [];
  });
}

/** Whether a pattern matches a path, existing or not. */
export function matchesPattern(pattern: string, path: string): boolean {
  const segments = pattern.split('/').map((segment) => {
    if (segment === '**') return '.+';
    return segment
      .split('*')
      .map((part) => part.replace(/[.+^${}()|[\]\\]/g, '\\$&'))
      .join('[^/]*');
  });
  return new RegExp(`^${segments.join('/').replace('/.+/', '/(?:.+/)?')}$`).test(path);
}
