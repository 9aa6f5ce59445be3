import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runtimeSocket } from '../../../src/kubernetes/runtime-socket.ts';
import { loaded, problemsOf } from '../../support/document.ts';

/** The problems of a document for Windows with this under `host`, without their places. */
async function ofWindows(host: string, rest = ''): Promise<string[]> {
  const problems = await problemsOf(`host: {platform: Windows, ${host}}\n${rest}`);
  return problems.map((problem) => problem.replace(/^\S+ {2}/, ''));
}

describe('a document for Windows', () => {
  test('names files with their drive, hooks of its shells, and the event log', async () => {
    const { model } = await loaded(`host:
  platform: Windows
  hostname: win-1
  files: [{path: 'C:\\k\\x', content: x}, {path: /etc/y, content: y, mode: "0700"}]
  hooks: {early: {commands: [Get-Date]}, afterBootstrap: {shell: cmd, commands: [ver]}}
secrets: {p: {file: 'C:\\secrets\\p'}}
`);
    const { host, reporting } = model;
    assert.equal(host.platform, 'windows');
    assert.deepEqual(
      host.files.map(({ path, mode }) => [path, mode]),
      [
        ['C:\\k\\x', 0o644],
        ['/etc/y', 0o600],
      ],
    );
    assert.deepEqual([host.hooks.early?.shell, host.hooks.afterBootstrap?.shell], ['powershell', 'cmd']);
    assert.deepEqual(reporting.sinks, [{ kind: 'WindowsEventLog' }]);
  });

  test('leaves the socket of the runtime to the machine, which has containerd at its pipe', async () => {
    const { model } = await loaded(`host: {platform: Windows}
kubernetes:
  version: v1.35.2
  role: Worker
  join: {discovery: {token: {token: abcdef.0123456789abcdef, endpoint: "10.0.0.1:6443", unsafeSkipCAVerification: true}}}
`);
    assert.equal(model.kubernetes?.node.criSocket, undefined);
    assert.equal(runtimeSocket(model, { platform: 'windows' }), 'npipe:////./pipe/containerd-containerd');
  });

  const refused: readonly (readonly [string, string, string])[] = [
    ['host.sysctl', 'sysctl: {vm.swappiness: 1}', 'these are settings of the Linux kernel'],
    ['host.kernelModules', 'kernelModules: [overlay]', 'Windows loads its drivers itself'],
    ['host.swap', 'swap: Disabled', 'the kubelet runs beside its paging file'],
    ['host.storage', 'storage: {}', 'disks of a Windows machine belong into its image'],
    ['host.groups', 'groups: [{name: a}]', 'accounts of a Windows machine belong into its image or its domain'],
    ['host.users', 'users: [{name: a}]', 'accounts of a Windows machine belong into its image or its domain'],
    ['host.services[0].dropIns', 'services: [{name: a, dropIns: []}]', 'services have no drop-ins there'],
    ['host.hooks.early.shell', 'hooks: {early: {shell: bash, commands: [x]}}', 'it has no such shell'],
    ['host.hooks.early.user', 'hooks: {early: {user: core, commands: [x]}}', 'hooks run as the system there'],
    [
      'host.hooks.early.commands[0]',
      'hooks: {early: {commands: [[x, y]]}}',
      'its shells do not pass arguments unchanged',
    ],
    [
      'host.hooks.early.frequency',
      'hooks: {early: {commands: [x], frequency: Always}}',
      'machineadm does not run at every start',
    ],
  ];
  for (const [path, host, why] of refused) {
    test(`is refused for ${path}`, async () => {
      const [problem = '', ...others] = await ofWindows(host);
      assert.ok(problem.startsWith(`${path}: not on Windows: ${why}`), problem);
      assert.deepEqual(others, []);
    });
  }

  const sections: readonly (readonly [string, string])[] = [
    ['containerRuntime', 'containerRuntime: {containerd: {cgroupDriver: systemd}}'],
    ['images', 'images: {required: [registry.k8s.io/pause:3.10]}'],
    ['hardening', 'hardening: {profiles: [cis-level-1]}'],
    ['reporting.sinks[0].type', 'reporting: {sinks: [{type: Journal}]}'],
    ['variables.a.instanceData', 'variables: {a: {instanceData: ds.meta_data.rack}}'],
    ['secrets.a.systemdCredential', 'secrets: {a: {systemdCredential: a}}'],
  ];
  for (const [path, section] of sections) {
    test(`is refused for ${path}`, async () => {
      const problems = await ofWindows('', `${section}\n`);
      assert.ok(
        problems.some((problem) => problem.startsWith(`${path}: not on Windows: `)),
        problems.join('\n'),
      );
    });
  }

  for (const [field, text] of [
    ['keytab', 'keytab: /etc/krb5.keytab'],
    ['servicePrincipals', 'servicePrincipals: [HTTP]'],
    ['kerberos', 'kerberos: {configuration: Managed}'],
    ['registerAddress', 'registerAddress: true'],
    ['logins', 'logins: {allowedGroups: [admins]}'],
    ['onReset', 'onReset: Leave'],
  ] as const) {
    test(`is refused for host.activeDirectory.${field}`, async () => {
      const credentials = 'credentials: {user: joiner, password: {secret: p}}';
      const section = `activeDirectory: {domain: corp.example.com, ${credentials}, ${text}}`;
      const [problem = '', ...others] = await ofWindows(section, 'secrets: {p: {env: P}}\n');
      assert.ok(problem.startsWith(`host.activeDirectory.${field}: not on Windows: `), problem);
      assert.deepEqual(others, []);
    });
  }

  test('takes its name from cloudbase-init', async () => {
    assert.deepEqual(await ofWindows('', 'variables: {a: {instanceData: ds.meta_data.local_hostname}}\n'), []);
  });

  test('is refused as a control plane', async () => {
    const rest = `kubernetes: {version: v1.35.2, role: InitControlPlane, cluster: {name: a}, node: {criSocket: "unix:///run/x.sock"}}\n`;
    const problems = await ofWindows('', rest);
    assert.ok(
      problems.some((problem) => problem.startsWith('kubernetes.role: not on Windows')),
      problems.join('\n'),
    );
    assert.ok(problems.some((problem) => problem.startsWith('kubernetes.node.criSocket: not on Windows')));
  });

  for (const [name, why] of [
    ['a-very-long-name-1', /longer than the 15 characters/],
    ['a.example.com', /has no dots/],
    ['12345', /not all digits/],
  ] as const) {
    test(`is refused with the computer name ${name}`, async () => {
      assert.match((await ofWindows(`hostname: "${name}"`)).join(), why);
    });
  }

  for (const [file, why] of [
    ['{path: "C:/k/con.txt", content: x}', /no file can have this name/],
    ['{path: "C:/k/a?b", content: x}', /no file can have this name/],
    ['{path: "C:/k/a.", content: x}', /no file can have this name/],
    ['{path: "C:/k/a", content: x, owner: "root:root"}', /files\[0\]\.owner: not on Windows/],
    ['{path: "C:/k/a", content: x, mode: "0640"}', /files\[0\]\.mode: not on Windows/],
    ['{path: "C:/k/a", content: x, directoryMode: "0750"}', /files\[0\]\.directoryMode: not on Windows/],
    [
      '{path: "C:/k/a", content: x}, {path: "/K/A", content: y}',
      /files\[1\]\.path: on Windows this is the same file as/,
    ],
    ['{path: "C:/ProgramData/machineadm/a", content: x}', /is in the directory of machineadm/],
    ['{path: /var/lib/machineadm/a, content: x}', /is in the directory of machineadm/],
    ['{path: "C:/k/../a", content: x}', /must not contain "\.\."/],
  ] as const) {
    test(`is refused with the file ${file}`, async () => {
      assert.match((await ofWindows(`files: [${file}]`)).join(), why);
    });
  }
});

describe('a document for Linux', () => {
  for (const [body, path] of [
    [`host: {files: [{path: 'C:\\k\\x', content: x}]}`, 'host.files[0].path'],
    [`host: {files: [{path: /k, contentFrom: {file: 'C:\\x'}}]}`, 'host.files[0].contentFrom.file'],
    [`secrets: {a: {file: 'C:\\x'}}`, 'secrets.a.file'],
    ['host: {hooks: {early: {shell: powershell, commands: [x]}}}', 'host.hooks.early.shell'],
    ["host: {hooks: {early: {workingDirectory: 'C:\\a', commands: [x]}}}", 'host.hooks.early.workingDirectory'],
    ['reporting: {sinks: [{type: WindowsEventLog}]}', 'reporting.sinks[0].type'],
  ] as const) {
    test(`may not have a Windows setting at ${path}`, async () => {
      const [problem = '', ...others] = await problemsOf(`${body}\n`);
      assert.ok(problem.includes(`  ${path}: `), problem);
      assert.match(problem, /host: \{platform: Windows\}/);
      assert.deepEqual(others, []);
    });
  }
});
