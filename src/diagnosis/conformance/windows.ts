import type { RootTree } from '../../host/local-files/root-tree.ts';
import { broken, type Clause, type ClauseResult, kept, notProven } from './clause.ts';
import { skewOf } from './kubernetes.ts';
import { versionsInProgram } from './program-files.ts';

/** https://kubernetes.io/docs/concepts/windows/intro/#windows-os-version-support: Windows Server 2019 is the oldest. */
const OLDEST_BUILD = 17_763;
/** PE Format, "Machine Types": IMAGE_FILE_MACHINE_AMD64. */
const AMD64 = 0x8664;
/** VS_FIXEDFILEINFO, dwSignature, as it is in a file. */
const VERSION_SIGNATURE = Buffer.from([0xbd, 0x04, 0xef, 0xfe]);

const KERNEL = '/Windows/System32/ntoskrnl.exe';
const POWERSHELL = '/Windows/System32/WindowsPowerShell/v1.0/powershell.exe';
const KUBEADM = '/k/kubeadm.exe';
const KUBELET = '/k/kubelet.exe';
const CONTAINERD = '/Program Files/containerd/containerd.exe';

/** Clauses about the mounted file system of a Windows image (drive C:), laid out as image-builder does. */
export const WINDOWS_CLAUSES: readonly Clause[] = [
  {
    id: 'WIN-01',
    level: 'MUST',
    title: 'Windows Server 2019 (build 17763) or newer',
    check({ tree }) {
      const build = buildOf(tree);
      if (tree.stat(KERNEL) === undefined)
        return broken(`${KERNEL} does not exist`, 'Give --root the mounted drive C:.');
      if (build === undefined) return notProven(`${KERNEL} does not name its build`);
      return build < OLDEST_BUILD
        ? broken(`build ${build}`, 'Use Windows Server 2019 or newer.')
        : kept(`build ${build}`);
    },
  },
  {
    id: 'WIN-02',
    level: 'MUST',
    title: 'Windows PowerShell 5.1, a part of every Windows Server, is installed',
    check: ({ tree }) => executables(tree, [POWERSHELL], 'Use an edition of Windows Server that has PowerShell 5.1.'),
  },
  {
    id: 'WIN-03',
    level: 'MUST',
    title: 'kubeadm.exe and kubelet.exe in C:\\k are for amd64, and of versions that kubeadm supports together',
    check({ tree }) {
      const remedy = 'Install kubeadm.exe and kubelet.exe of one version for windows/amd64 in C:\\k.';
      const found = executables(tree, [KUBEADM, KUBELET], remedy);
      if (found.state !== 'kept') return found;
      return skewOf(versionsInProgram(tree, KUBEADM), versionsInProgram(tree, KUBELET), remedy);
    },
  },
  {
    id: 'WIN-04',
    level: 'MUST',
    title: 'containerd.exe in C:\\Program Files\\containerd is for amd64',
    check: ({ tree }) => executables(tree, [CONTAINERD], 'Install containerd for windows/amd64.'),
  },
  {
    id: 'WIN-05',
    level: 'SHOULD',
    title: 'C:\\k\\RestartKubelet.ps1, or nssm.exe, starts the kubelet with the arguments of kubeadm',
    check({ tree }) {
      const found = ['/k/RestartKubelet.ps1', '/k/nssm.exe', '/Windows/System32/nssm.exe'].find(
        (path) => tree.stat(path) !== undefined,
      );
      return found === undefined
        ? broken('neither exists', "Install the kubelet as image-builder's Windows role does.")
        : kept(found);
    },
  },
];

/** Whether each of these is a program for amd64. */
function executables(tree: RootTree, paths: readonly string[], remedy: string): ClauseResult {
  for (const path of paths) {
    const machine = machineOf(tree, path);
    if (machine === undefined) {
      return broken(
        tree.stat(path) === undefined ? `${path} does not exist` : `${path} is not a Windows program`,
        remedy,
      );
    }
    if (machine !== AMD64) return broken(`${path} is for machine 0x${machine.toString(16)}, and not for amd64`, remedy);
  }
  return kept(paths.join(', '));
}

/** The machine type of a PE file: e_lfanew at 0x3c names the place of "PE\0\0", which the type follows. */
function machineOf(tree: RootTree, path: string): number | undefined {
  const head = Buffer.from(tree.readRange(path, 0, 4096) ?? []);
  if (head.length < 0x40 || head.toString('latin1', 0, 2) !== 'MZ') return undefined;
  const at = head.readUInt32LE(0x3c);
  if (at + 6 > head.length || head.toString('latin1', at, at + 4) !== 'PE\0\0') return undefined;
  return head.readUInt16LE(at + 4);
}

/** The third number of the kernel's file version, 10.0.20348.2700. */
function buildOf(tree: RootTree): number | undefined {
  const bytes = Buffer.from(tree.readRange(KERNEL, 0, 64 * 1024 * 1024) ?? []);
  const at = bytes.indexOf(VERSION_SIGNATURE);
  // dwFileVersionLS is the fourth field, its upper half the build.
  return at < 0 || at + 16 > bytes.length ? undefined : bytes.readUInt16LE(at + 14);
}
