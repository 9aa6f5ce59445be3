import type { Finding, PathSegment } from '../../diagnostics/index.ts';
import { LINUX_ONLY_PARTS } from '../../host-parts/index.ts';
import type { HostSection } from './host.ts';
import type { Sections } from './sections.ts';

/** What a document asks of a platform that does not have it. Each field is named; nothing is left out in silence. */
export function checkPlatform(sections: Sections): Finding[] {
  return sections.host?.platform === 'Windows' ? checkWindows(sections) : checkLinux(sections);
}

export const WINDOWS_PATH = /^[A-Za-z]:[\\/]/;

/** C:\ProgramData\machineadm by its names: closed as a whole, so that no file in it has rights of its own. */
const OWN_DIRECTORIES = /^\/(?:programdata|var\/lib|run)\/machineadm\//;

/** Characters that no name on NTFS may hold, and names of devices (learn.microsoft.com, "Naming Files, Paths, and Namespaces"). */
const IMPOSSIBLE_PATH =
  /[<>:"|?*]|[. ](?:[\\/]|$)|(?:^|[\\/])(?:con|prn|aux|nul|com\d|lpt\d)(?:\.[^\\/]*)?(?:[\\/]|$)/i;

/** What access rights on Windows can tell apart: for the system alone, or for users to read, or to start, too. */
const WINDOWS_MODES: readonly string[] = ['600', '700', '644', '755'];

/** The name that cloudbase-init has given the machine before it reads user data (cloudbaseinit/plugins/common/sethostname.py). */
const HOST_NAME_OF_INSTANCE = /^(?:v1\.|ds\.meta[-_]data\.)?(?:local[-_])?hostname$/;

/** NetBIOS names end there, and Windows silently truncates a longer one. */
const LONGEST_COMPUTER_NAME = 15;

/** What the membership of a Windows machine has no use for, and why. */
const LINUX_ONLY_OF_DOMAIN: Partial<Record<keyof NonNullable<HostSection['activeDirectory']>, string>> = {
  keytab: 'Windows keeps the keys of its computer account itself',
  servicePrincipals: 'Windows keeps the keys of its computer account itself',
  kerberos: 'Windows needs no configuration of Kerberos',
  registerAddress: 'Windows registers its addresses itself',
  logins: 'members of the domain may log in to its Windows machines',
};

function checkWindows({
  host,
  secrets,
  variables,
  containerRuntime,
  images,
  kubernetes,
  hardening,
  reporting,
}: Sections): Finding[] {
  const findings: Finding[] = [];
  const refuse = (path: readonly PathSegment[], why: string, hint = 'remove it'): void => {
    findings.push({ path, message: `not on Windows: ${why}`, hint });
  };
  for (const [name, why] of Object.entries(LINUX_ONLY_PARTS)) {
    if (Object.hasOwn(host ?? {}, name)) refuse(['host', name], why);
  }
  if (host?.swap === 'Disabled') refuse(['host', 'swap'], 'the kubelet runs beside its paging file');
  if (host?.hostname !== undefined) findings.push(...checkComputerName(host.hostname));
  host?.services?.forEach(({ dropIns, absent }, index) => {
    if (absent !== undefined) refuse(['host', 'services', index, 'absent'], 'services are not removed there');
    if (dropIns !== undefined) refuse(['host', 'services', index, 'dropIns'], 'services have no drop-ins there');
  });
  for (const phase of ['early', 'beforeBootstrap', 'afterBootstrap'] as const) {
    const group = host?.hooks?.[phase];
    const path = ['host', 'hooks', phase];
    if (group?.shell === 'sh' || group?.shell === 'bash') {
      refuse([...path, 'shell'], 'it has no such shell', 'powershell or cmd; powershell is the default');
    }
    if (group?.user !== undefined) refuse([...path, 'user'], 'hooks run as the system there');
    group?.commands.forEach((command, index) => {
      if (typeof command === 'string') return;
      refuse([...path, 'commands', index], 'its shells do not pass arguments unchanged', 'write the command as text');
    });
  }
  if (host?.hooks?.singleScript === true) {
    refuse(['host', 'hooks', 'singleScript'], 'the state of its shells cannot be saved');
  }
  if (host?.hooks?.early?.frequency === 'Always') {
    refuse(['host', 'hooks', 'early', 'frequency'], 'machineadm does not run at every start', 'Once');
  }
  for (const [name, why] of Object.entries(LINUX_ONLY_OF_DOMAIN)) {
    if (Object.hasOwn(host?.activeDirectory ?? {}, name)) refuse(['host', 'activeDirectory', name], why);
  }
  if (host?.activeDirectory?.onReset === 'Leave') {
    refuse(['host', 'activeDirectory', 'onReset'], 'there is no reset of a Windows machine');
  }
  findings.push(...checkWindowsFiles(host));
  for (const [name, source] of Object.entries(secrets ?? {})) {
    if ('systemdCredential' in source) refuse(['secrets', name, 'systemdCredential'], 'Windows has no systemd', 'file');
  }
  for (const [name, source] of Object.entries(variables ?? {})) {
    if (!('instanceData' in source) || HOST_NAME_OF_INSTANCE.test(source.instanceData)) continue;
    refuse(['variables', name, 'instanceData'], 'cloudbase-init leaves no instance data but the host name', 'metadata');
  }
  if (containerRuntime !== undefined) {
    refuse(['containerRuntime'], 'containerd is configured by the image (conf.d beside its config.toml)');
  }
  if (images !== undefined) refuse(['images'], 'images of a Windows node belong into its image, or are pulled');
  if (hardening !== undefined) refuse(['hardening'], 'its controls are those of Linux nodes');
  if (kubernetes !== undefined && kubernetes.role !== 'Worker') {
    refuse(['kubernetes', 'role'], 'control planes run on Linux', 'Worker');
  }
  if (kubernetes?.bootstrapper?.exec !== undefined)
    refuse(['kubernetes', 'bootstrapper', 'exec'], 'only kubeadm is there');
  if (kubernetes?.node?.addresses !== undefined) {
    const hint = 'set node-ip in kubernetes.node.kubelet.args';
    refuse(['kubernetes', 'node', 'addresses'], 'the states of its addresses and its routes are not read', hint);
  }
  if (kubernetes?.node?.criSocket?.startsWith('unix:')) {
    refuse(
      ['kubernetes', 'node', 'criSocket'],
      'containerd listens at a named pipe',
      'npipe:////./pipe/containerd-containerd',
    );
  }
  reporting?.sinks?.forEach(({ type }, index) => {
    if (type === 'Journal' || type === 'SystemdNotify') {
      refuse(['reporting', 'sinks', index, 'type'], 'Windows has no systemd', 'WindowsEventLog');
    }
  });
  return findings;
}

function checkComputerName(name: string): Finding[] {
  const path = ['host', 'hostname'];
  if (name.includes('.')) {
    return [
      { path, message: 'not on Windows: a computer name has no dots', hint: 'its domain is host.activeDirectory' },
    ];
  }
  if (/^\d+$/.test(name)) return [{ path, message: 'not on Windows: a computer name is not all digits' }];
  if (name.length <= LONGEST_COMPUTER_NAME) return [];
  const hint = 'Windows would truncate it, and two machines could get the same name';
  return [
    { path, message: `not on Windows: longer than the ${LONGEST_COMPUTER_NAME} characters of a computer name`, hint },
  ];
}

function checkWindowsFiles(host: HostSection | undefined): Finding[] {
  const findings: Finding[] = [];
  const known = new Map<string, number>();
  host?.files?.forEach((file, index) => {
    const at = ['host', 'files', index];
    if (file.owner !== undefined) {
      const hint = 'remove it: files belong to the administrators';
      findings.push({ path: [...at, 'owner'], message: 'not on Windows: its files have no such owner', hint });
    }
    if (file.unpack !== undefined) {
      findings.push({ path: [...at, 'unpack'], message: 'not on Windows: archives are unpacked on Linux only' });
    }
    for (const key of ['mode', 'directoryMode'] as const) {
      const mode = file[key];
      const possible = key === 'mode' ? WINDOWS_MODES : ['700', '755'];
      if (mode === undefined || possible.includes(mode.replace(/^0/, ''))) continue;
      const hint = `${possible.map((one) => `"0${one}"`).join(' or ')}: for the system and administrators, or for users to read`;
      findings.push({
        path: [...at, key],
        message: 'not on Windows: its access rights cannot express this mode',
        hint,
      });
    }
    if (IMPOSSIBLE_PATH.test(file.path.replace(/^[A-Za-z]:/, ''))) {
      findings.push({ path: [...at, 'path'], message: 'not on Windows: no file can have this name' });
    }
    // NTFS knows no difference between upper and lower case; a path without a drive is on C:.
    const same = file.path
      .replace(/^[Cc]:/, '')
      .replaceAll('\\', '/')
      .toLowerCase();
    if (OWN_DIRECTORIES.test(same)) {
      const hint = 'choose another directory';
      findings.push({ path: [...at, 'path'], message: 'not on Windows: it is in the directory of machineadm', hint });
    }
    const first = known.get(same);
    if (first === undefined) known.set(same, index);
    // The checks of all platforms report the same text.
    else if (host.files?.[first]?.path !== file.path) {
      const other = ['host', 'files', first];
      findings.push({
        code: 'Duplicate',
        path: [...at, 'path'],
        message: 'on Windows this is the same file as',
        other,
        hint: 'keep one of them',
      });
    }
  });
  return findings;
}

function checkLinux({ host, secrets, reporting }: Sections): Finding[] {
  const findings: Finding[] = [];
  const hint = 'host: {platform: Windows}';
  const drive = (path: readonly PathSegment[], text: string | undefined): void => {
    if (text === undefined || !WINDOWS_PATH.test(text)) return;
    findings.push({ path, message: 'a path of Windows in a document for Linux', hint });
  };
  host?.files?.forEach((file, index) => {
    drive(['host', 'files', index, 'path'], file.path);
    const from = file.contentFrom;
    if (from !== undefined && 'file' in from) drive(['host', 'files', index, 'contentFrom', 'file'], from.file);
  });
  for (const [name, source] of Object.entries(secrets ?? {})) {
    if ('file' in source) drive(['secrets', name, 'file'], source.file);
  }
  for (const phase of ['early', 'beforeBootstrap', 'afterBootstrap'] as const) {
    const { shell, workingDirectory } = host?.hooks?.[phase] ?? {};
    drive(['host', 'hooks', phase, 'workingDirectory'], workingDirectory);
    if (shell !== 'powershell' && shell !== 'cmd') continue;
    findings.push({
      path: ['host', 'hooks', phase, 'shell'],
      message: `Linux has no ${shell}`,
      hint: `sh or bash, or ${hint}`,
    });
  }
  reporting?.sinks?.forEach(({ type }, index) => {
    if (type !== 'WindowsEventLog') return;
    findings.push({ path: ['reporting', 'sinks', index, 'type'], message: 'Linux has no Windows event log', hint });
  });
  return findings;
}
