import { loadDocument } from '@machineadm/document/loading/load.ts';
import type { Model } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { verdict } from '@machineadm/failures/verdict.ts';
import { endingOf, evaluateRun as judgeKubeadm, KubeadmProgress } from '@machineadm/kubeadm/output.ts';
import { checkCertificates } from '../../../src/diagnosis/checks/certificates.ts';
import {
  checkCapacity,
  checkCgroups,
  checkDisks,
  checkSwap,
  checkTimeSource,
} from '../../../src/diagnosis/checks/machine.ts';
import { checkPorts } from '../../../src/diagnosis/checks/ports.ts';
import { collect } from '../../../src/diagnosis/collect.ts';
import { Unit } from '../../../src/diagnosis/conformance/unit-files.ts';
import { mountPointsOf } from '../../../src/host/files/paths.ts';
import { defaultRoutes, defaultRoutes6 } from '../../../src/host/linux/node-addresses.ts';
import { parseProcessStat } from '../../../src/host/linux/processes.ts';
import { parseServiceState } from '../../../src/host/linux/systemd.ts';
import { parseOsRelease } from '../../../src/host/machine/linux-facts.ts';
import { environmentFile } from '../../../src/host/secrets/variables.ts';
import { unitTrouble } from '../../../src/host/services/unit-trouble.ts';
import { ALL_STEPS } from '../../../src/pipeline/pipeline.ts';
import { bootEntries } from '../../../src/reporting/timeline.ts';
import { EMPTY_RECORD } from '../../../src/step/index.ts';
import { facts } from '../../../test/support/facts.ts';
import { type MemoryProgram, memoryHost } from '../../../test/support/memory-host.ts';
import { json } from '../mutators/json.ts';
import type { Random } from '../random.ts';
import { CANARIES, type FuzzTarget, type Mutation } from '../target.ts';

const [SECRET] = CANARIES;

/** The files and programs of a machine: a line `==== NAME` and the content or output. The name of a program begins with `!`. */
function sections(parts: Readonly<Record<string, string>>): string {
  return Object.entries(parts)
    .map(([name, text]) => `==== ${name}\n${text}`)
    .join('');
}

function hostOf(input: string) {
  const files: Record<string, string> = {};
  const programs: Record<string, MemoryProgram> = {};
  for (const section of input.split(/^==== /m).slice(1)) {
    const end = section.indexOf('\n');
    const [name, text] = [section.slice(0, end), section.slice(end + 1)];
    if (name.startsWith('!')) {
      // A program can have one output for each set of arguments: `!lsblk --pairs`.
      const [program = '', ...words] = name.slice(1).split(' ');
      const before = programs[program];
      programs[program] = (command, host) =>
        words.every((word) => command.args.includes(word))
          ? { stdout: text }
          : (before?.(command, host) ?? { status: 1 });
    } else if (name.length < 200 && /^(?:\/[^/\0\n]+)+$/.test(name)) files[name] = text;
  }
  return memoryHost({
    files: { '/dev/sdb': { type: 'other' }, '/dev/sdc': { type: 'other' }, ...files },
    programs,
    services: { containerd: { active: true, enabled: true }, kubelet: {}, chrony: { active: true, enabled: true } },
    users: { ada: 1000 },
    groups: { ada: 1000, wheel: 10 },
  });
}

/** Changes JSON in one of the sections. */
const jsonSection: Mutation = (random: Random, input: string) => {
  const parts = input.split(/^(?==== )/m);
  const at = random.below(parts.length);
  const part = parts[at] ?? '';
  const end = part.indexOf('\n') + 1;
  const changed = json(random, part.slice(end));
  if (changed === undefined) return undefined;
  parts[at] = `${part.slice(0, end)}${changed}\n`;
  return parts.join('');
};

const DOCUMENT = `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: n}
secrets: {hash: {value: "$6$a$${SECRET}"}}
host:
  hostname: n
  time: {servers: [10.0.0.1], synchronized: {timeout: 1s}}
  kernelModules: [overlay]
  sysctl: {net.ipv4.ip_forward: 1}
  swap: Disabled
  groups: [{name: g}]
  users: [{name: ada, groups: [wheel, g], passwordHash: {secret: hash}, sshAuthorizedKeys: [ssh-ed25519 AAAAC3Nza ada]}]
  files: [{path: /etc/a, content: "a", owner: ada, mode: "0600"}]
  storage:
    disks: [{device: {path: /dev/sdb}, partitions: [{size: 1Gi, label: a}]}]
    filesystems: [{device: {path: /dev/sdc}, type: ext4, label: b}]
    mounts: [{device: {path: /dev/sdc}, path: /var/lib/b, type: ext4}]
  services: [{name: chrony, state: Started, enabled: true}]
`;

let loaded: Promise<Model> | undefined;

function model(): Promise<Model> {
  loaded ??= loadDocument([{ name: 'd.yaml', bytes: new TextEncoder().encode(DOCUMENT) }], {
    agentVersion: '0.1.0',
  }).then((result) => {
    if (!result.ok) throw new RangeError(JSON.stringify(result.problems));
    return result.document.model;
  });
  return loaded;
}

/** The plan of these steps on such a machine, and the problems that their preflight finds. */
async function planned(input: string, ids: readonly string[]): Promise<string> {
  const words: string[] = [];
  for (const step of ALL_STEPS.filter(({ id }) => ids.includes(id))) {
    try {
      const desired = step.desired(await model(), facts());
      if (desired === undefined) continue;
      const host = hostOf(input);
      words.push(...((await step.preflight?.(host, desired)) ?? []).map(({ what }) => what));
      const actual = await step.inspect(host, desired, EMPTY_RECORD);
      for (const { id, summary, diff = '' } of step.plan(desired, actual)) words.push(`${id} ${summary} ${diff}`);
    } catch (error) {
      // The machine in memory raises an errno where a real one throws a FileError.
      if (error instanceof Error && error.message.includes('simulated')) continue;
      if (!(error instanceof MachineadmError)) throw error;
      words.push(error.message, error.remedy, ...error.evidence.map(({ text }) => text));
    }
  }
  return redact(words.join('\n'));
}

const PASSWD = 'root:x:0:0:root:/root:/bin/sh\nada:x:1000:1000:Ada:/home/ada:/bin/sh\n';
const FILE_TOKENS = [
  '\n',
  ':',
  ' ',
  '\t',
  '#',
  '=',
  '"',
  "'",
  '\\',
  '\\040',
  '/',
  '-1',
  '99999999999',
  '::',
  '==== ',
  '\x00',
  '0x',
  ',',
];

export const accounts: FuzzTarget = {
  name: 'accounts',
  reads: 'passwd, group, shadow, authorized_keys',
  seeds: [
    sections({
      '/etc/passwd': PASSWD,
      '/etc/group': 'root:x:0:\nada:x:1000:\nwheel:x:10:ada\n',
      '/etc/shadow': `ada:$6$b$${SECRET}:19000:0:99999:7:::\n`,
      '/home/ada/.ssh/authorized_keys': 'ssh-ed25519 AAAAC3Nza other\n',
      '/etc/sudoers': '@includedir /etc/sudoers.d\n',
      '/etc/hostname': 'n\n',
      '/etc/hosts': '127.0.0.1 localhost\n',
    }),
  ],
  tokens: FILE_TOKENS,
  run: (input) => {
    // A hash outside of /etc/shadow is not a secret.
    const kept = input
      .split(/^(?==== )/m)
      .map((part) => (part.startsWith('==== /etc/shadow\n') ? part : part.replaceAll(SECRET, 'x')));
    return planned(kept.join(''), ['groups', 'users', 'files', 'hostname']);
  },
};

const row = (name: string) => ({ name, kname: name, type: 'disk', size: 8_589_934_592, serial: null, model: null });

export const storage: FuzzTarget = {
  name: 'storage',
  reads: 'lsblk, blkid, wipefs, sfdisk, findmnt, fstab, swaps',
  seeds: [
    sections({
      '!lsblk': `${JSON.stringify({ blockdevices: [row('/dev/sdb'), row('/dev/sdc')] })}\n`,
      '!blkid': 'TYPE=ext4\nUUID=407926d8-e07e-44e3-a3dc-6553c3f7f1e7\nLABEL=b\n',
      '!wipefs': '# offset,uuid,label,type\n0x438,4079,b,ext4\n',
      '!sfdisk': `${JSON.stringify({ partitiontable: { label: 'gpt', sectorsize: 512, lastlba: 16777182, partitions: [{ node: '/dev/sdb1', size: 2097152, type: '0FC63DAF', name: 'a' }] } })}\n`,
      '!findmnt': `${JSON.stringify({ filesystems: [{ source: '/dev/sdc', fstype: 'ext4', options: 'rw,relatime' }] })}\n`,
      '!udevadm': '',
      '/etc/fstab': 'UUID=4079 /var/lib/b ext4 defaults,nofail 0 2 # x\n/dev/sda2\tnone\tswap\tsw 0 0\n',
      '/proc/swaps': 'Filename Type Size Used Priority\n/dev/sda2 partition 1048572 0 -2\n',
      '/proc/self/mountinfo': '36 35 98:0 / /var/lib/b rw,noatime master:1 - ext4 /dev/sdc rw\n',
      '/etc/passwd': PASSWD,
    }),
  ],
  tokens: [...FILE_TOKENS, '{', '}', '[', ']', 'null'],
  grammar: [jsonSection],
  run: (input) => planned(input, ['disks', 'filesystems', 'mounts', 'swap']),
};

export const system: FuzzTarget = {
  name: 'system',
  reads: 'sysctl.d, modprobe, chrony, timedatectl, meminfo, ports, routes, os-release and files of /proc',
  seeds: [
    sections({
      '/etc/sysctl.d/99-a.conf': '# a\nnet.ipv4.ip_forward = 0\n-net/ipv4/conf/*/rp_filter=1\n',
      '/proc/sys/net/ipv4/ip_forward': '1\n',
      '/proc/modules': 'overlay 151552 0 - Live 0x0000000000000000\n',
      '!modprobe': 'blacklist floppy\ninstall usb_storage /bin/false\n',
      '/etc/chrony/chrony.conf': 'pool 2.debian.pool.ntp.org iburst\nsourcedir /etc/chrony/sources.d\n',
      '!chronyc tracking':
        '0A000001,10.0.0.1,3,1700000000.1,0.000001,0.000002,0.1,1.0,0.0,0.1,0.01,0.001,64.0,Normal\n',
      '!chronyc sources': '^,*,10.0.0.1,2,6,377,10,0.1,0.1,0.1\n',
      '!ntpq': 'leap=00, stratum=3, rootdelay=1.0, rootdisp=2.0, offset=0.1\n',
      '!timedatectl': 'Server: 10.0.0.1 (ntp)\nOffset: +1min 2.5s\n',
      '/proc/meminfo': 'MemTotal: 1000000 kB\nMemAvailable: 900000 kB\n',
      '/proc/swaps': 'Filename Type Size\n/dev/vdb partition 1024 0 -2\n',
      '/proc/net/tcp': '  sl  local_address rem_address   st\n   0: 00000000:280A 00000000:0000 0A 0\n',
      '/proc/net/route': 'Iface\tDestination\tGateway\tFlags\neth0\t00000000\t0100A8C0\t0003\t0\t0\t0\t00000000\n',
      '/proc/net/ipv6_route': `${'0'.repeat(32)} 00 ${'0'.repeat(32)} 00 fe80 00 00 00 00 eth0\n`,
      '/etc/os-release': 'ID=debian\nVERSION_ID="12"\n',
      '!findmnt': '/ 10000000000 900000000 rw\n',
      '/etc/default/a': 'A="b c" # d\nexport C=\'d\'\n',
      '/proc/7/stat': '7 (a b) c) S 1 7 7 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 123 0\n',
    }),
  ],
  tokens: FILE_TOKENS,
  run: async (input) => {
    const host = hostOf(input);
    const text = async (path: string) => (await host.readText(path).catch(() => undefined)) ?? '';
    const words = [await planned(input, ['sysctl', 'kernel-modules', 'time', 'clock', 'services', 'swap'])];
    const looks = await Promise.all(
      [
        checkDisks(host),
        checkCapacity(host, 'controlPlane', 2),
        checkSwap(host, false),
        checkCgroups(host, parseVersion('v1.35.0')),
        checkTimeSource(host),
        checkPorts(host, true, 6443),
        checkCertificates(host, 1_700_000_000_000),
      ].map((look) => look.catch(simulated)),
    );
    for (const { id, text: said, remedy = '' } of looks.flat()) words.push(`${id} ${said} ${remedy}`);
    words.push(JSON.stringify(parseOsRelease(await text('/etc/os-release'))));
    words.push(...defaultRoutes(await text('/proc/net/route')), ...defaultRoutes6(await text('/proc/net/ipv6_route')));
    words.push(JSON.stringify(parseProcessStat(await text('/proc/7/stat'))));
    words.push(`${environmentFile(await text('/etc/default/a')).size}`);
    words.push(...mountPointsOf(await text('/proc/self/mountinfo')));
    return words.join('\n');
  },
};

const SHOWN = `LoadState=loaded
ActiveState=activating
SubState=auto-restart
Result=exit-code
UnitFileState=enabled
NeedDaemonReload=no
MainPID=0
ExecMainStatus=1
ExecMainCode=1
NRestarts=7
ExecMainStartTimestampMonotonic=123456
DropInPaths=/etc/systemd/system/kubelet.service.d/10-kubeadm.conf
Environment=A=--kubeconfig=/k "C=--config=/c d"
ExecStart={ path=/usr/bin/kubelet ; argv[]=/usr/bin/kubelet $A $C ; ignore_errors=no ; start_time=[n/a] ; pid=0 ; code=exited ; status=1/FAILURE }
UserspaceTimestampMonotonic=2000000
FirmwareTimestampMonotonic=0
`;

export const units: FuzzTarget = {
  name: 'units',
  reads: '`systemctl show` and unit files',
  seeds: [SHOWN],
  tokens: [
    '=',
    '\n',
    '{',
    '}',
    ' ; ',
    '"',
    '$',
    '${',
    '\\',
    '[n/a]',
    'argv[]=',
    'status=',
    '-1',
    '99999999999999999999',
    ',',
  ],
  run: async (input) => {
    const state = parseServiceState(input, 1_700_000_000_000);
    const host = memoryHost({
      files: { '/usr/lib/systemd/system/kubelet.service': input, '/usr/bin/kubelet': input },
      services: { kubelet: state },
    });
    const unit = new Unit('/usr/lib/systemd/system/kubelet.service', [input]).list('Service', 'ExecStart');
    const lines = await collect(host, {
      since: { realTimeMs: 0 },
      role: 'Worker',
      criSocket: 'unix:///run/crio/crio.sock',
      deadlineMs: 2000,
      now: () => 1_700_000_000_000,
    });
    const found = verdict({ lines });
    return `${unitTrouble(state)?.text} ${unit.length} ${found.outcome} ${bootEntries(input, 5).length}`;
  },
};

const line = (fields: object) => JSON.stringify({ SYSLOG_IDENTIFIER: 'kubelet', ...fields });

export const journalctl: FuzzTarget = {
  name: 'journalctl',
  reads: '`journalctl -o json`, and logs of machines without it',
  seeds: [
    `${[
      line({ MESSAGE: 'E1120 "command failed" err="failed to run Kubelet: running with swap on is not supported"' }),
      line({ MESSAGE: [102, 97, 105, 108] }),
      line({ MESSAGE: ['a', 'b'], SYSLOG_IDENTIFIER: 'systemd' }),
      line({
        MESSAGE: 'kubelet.service: Main process exited, code=killed, status=9/KILL',
        SYSLOG_IDENTIFIER: 'systemd',
      }),
    ].join('\n')}\n`,
  ],
  tokens: [
    '{',
    '}',
    '[',
    ']',
    '"',
    ',',
    '\n',
    '\\u001b[31m',
    '\\n',
    'null',
    '256',
    '-1',
    'code=killed, status=9/KILL',
    '\\ud800',
  ],
  grammar: [
    (random, input) => {
      const lines = input.split('\n');
      const at = random.below(lines.length);
      const changed = json(random, lines[at] ?? '');
      return changed === undefined ? undefined : lines.with(at, changed).join('\n');
    },
  ],
  run: async (input) => {
    const host = memoryHost({ programs: { journalctl: () => ({ stdout: input }) } });
    const lines = await collect(host, {
      since: { realTimeMs: 0 },
      role: 'Worker',
      criSocket: 'unix:///run/containerd/containerd.sock',
      deadlineMs: 2000,
      now: () => 1_700_000_000_000,
    });
    const found = verdict({ lines });
    return found.outcome === 'failure' ? `${found.reason} ${found.summary.slice(0, 100)}` : found.outcome;
  },
};

export const kubeadmOutput: FuzzTarget = {
  name: 'kubeadm-output',
  reads: 'Output and version strings of kubeadm, kubelet and containerd',
  seeds: [
    '[preflight] Running pre-flight checks\n\t[WARNING SystemVerification]: a\n[certs] Using certificateDir folder "/etc/kubernetes/pki"\n[etcd] Announced new etcd member joining to the existing etcd cluster\nerror execution phase kubelet-start: timed out waiting for the condition\nTo see the stack trace of this error execute with --v=5 or higher\n',
    'This node has joined the cluster:\n* Certificate signing request was sent\n',
    '[preflight] Some fatal errors occurred:\n\t[ERROR Port-10250]: Port 10250 is in use\nerror: error execution phase preflight: a\n',
    'containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+b1\nKubernetes v1.31.0-rc.1+build\nv1.35.2\n',
  ],
  tokens: [
    '\n',
    '[',
    ']',
    ' ',
    '[ERROR ',
    '[etcd] ',
    'error: ',
    'error execution phase ',
    ': ',
    'v1.',
    '~',
    '+',
    '.',
    '"',
    'a Node with name "',
  ],
  run: async (input) => {
    const words: string[] = [];
    for (const command of ['init', 'join'] as const) {
      const progress = new KubeadmProgress(command);
      for (const [index, text] of input.split('\n').entries())
        progress.observe({ stream: index % 3 === 0 ? 'stdout' : 'stderr', text });
      const judged = judgeKubeadm(command, input.length % 3, progress);
      words.push(JSON.stringify(endingOf(1, progress)), judged.succeeded ? 'succeeded' : judged.summary);
    }
    words.push(parseVersion(input)?.text ?? 'no version');
    return words.join('\n');
  },
};

/** The machine in memory raises an errno where a real one throws a FileError. */
function simulated(error: unknown): [] {
  if (error instanceof Error && error.message.includes('simulated')) return [];
  throw error;
}
