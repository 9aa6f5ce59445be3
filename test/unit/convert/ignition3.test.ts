import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { convert } from '@machineadm/convert/index.ts';
import { parse } from 'yaml';

const TOKEN = 'abcdef.0123456789abcde0';
const JOIN = `apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery: {bootstrapToken: {token: ${TOKEN}, apiServerEndpoint: 'api:6443', caCertHashes: ['sha256:${'0'.repeat(64)}']}}
`;

async function converted(config: object, version = '3.4.0') {
  const text = JSON.stringify({ ignition: { version }, ...config });
  const { documents, decisions } = await convert([{ name: 'node.ign', text }], { kubernetesVersion: 'v1.34.2' });
  return {
    host: documents[0] === undefined ? undefined : parse(documents[0].yaml).host,
    document: documents[0] === undefined ? undefined : parse(documents[0].yaml),
    decisions: decisions.map(({ code, at, message }) => `${code} ${at}: ${message}`),
    codes: decisions.map(({ code }) => code),
  };
}

const base64 = (text: string | Uint8Array): string => Buffer.from(text).toString('base64');
const percent = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');

describe('contents of files', () => {
  const text = 'a = 1 # ö, 100%\n';
  const forms: readonly (readonly [string, object])[] = [
    ['percent-encoded', { source: `data:,${encodeURIComponent(text)}` }],
    ['with a type and a charset', { source: `data:text/plain;charset=utf-8,${encodeURIComponent(text)}` }],
    ['base64', { source: `data:;base64,${base64(text)}` }],
    ['base64, percent-encoded', { source: `data:;base64,${encodeURIComponent(base64(text))}` }],
    ['compressed', { source: `data:;base64,${base64(gzipSync(text))}`, compression: 'gzip' }],
    ['compressed and percent-encoded', { source: `data:,${percent(gzipSync(text))}`, compression: 'gzip' }],
    ['with its digest', { source: `data:;base64,${base64(text)}`, verification: { hash: `sha256-${'0'.repeat(64)}` } }],
  ];
  for (const [what, contents] of forms) {
    test(what, async () => {
      const { host, decisions } = await converted({ storage: { files: [{ path: '/etc/a', contents }] } });
      assert.deepEqual(
        host?.files,
        [{ path: '/etc/a', content: text, mode: '0644', owner: 'root:root' }],
        decisions.join('\n'),
      );
    });
  }

  test('bytes that are no text stay base64; no content is an empty file', async () => {
    const files = [
      {
        path: '/etc/b',
        mode: 0o640,
        user: { name: 'ada' },
        group: { id: 7 },
        contents: { source: 'data:;base64,/////w==' },
      },
      { path: '/etc/c', overwrite: true, contents: {} },
    ];
    const { host } = await converted({ storage: { files } });
    assert.deepEqual(host.files, [
      { path: '/etc/b', content: '/////w==', encoding: 'base64', mode: '0640', owner: 'ada:7' },
      { path: '/etc/c', content: '', mode: '0644', owner: 'root:root' },
    ]);
  });

  test('what is appended, to a file of the config and to one of the image', async () => {
    const append = [{ source: 'data:,two%0A' }, { source: 'data:,three%0A' }];
    const files = [
      { path: '/etc/d', contents: { source: 'data:,one%0A' }, append },
      { path: '/etc/e', append },
    ];
    const { host } = await converted({ storage: { files } });
    assert.deepEqual(
      host.files.map(({ path, content, append: appends }: { path: string; content: string; append?: boolean }) => [
        path,
        content,
        appends,
      ]),
      [
        ['/etc/d', 'one\ntwo\nthree\n', undefined],
        ['/etc/e', 'two\nthree\n', true],
      ],
    );
  });

  const wrong: readonly (readonly [string, object, RegExp])[] = [
    [
      'a download',
      { source: 'https://user:secret-7Jw@x.example/a' },
      /^ContainerLinuxConfigDropped node\.ign: storage\.files\[0\]\.contents: \/etc\/a is downloaded: write contentFrom\.http/,
    ],
    [
      'damaged compression',
      { source: 'data:;base64,c2VjcmV0', compression: 'gzip' },
      /^InputInvalid node\.ign: storage\.files\[0\]\.contents\.source/,
    ],
    ['no base64', { source: 'data:;base64,*secret-7Jw*' }, /^InputInvalid .*contents\.source/],
    ['no comma', { source: 'data:secret-7Jw' }, /^InputInvalid .*contents\.source/],
    [
      'another compression',
      { source: 'data:,a', compression: 'xz' },
      /^InputInvalid .*contents\.compression: expected gzip/,
    ],
    [
      'a bomb',
      { source: `data:;base64,${base64(gzipSync(Buffer.alloc(50_000_000)))}`, compression: 'gzip' },
      /^InputInvalid .*contents\.source/,
    ],
  ];
  for (const [what, contents, expected] of wrong) {
    test(`${what} is told, and not quoted`, async () => {
      const { decisions } = await converted({ storage: { files: [{ path: '/etc/a', contents }] } });
      assert.ok(
        decisions.some((one) => expected.test(one)),
        decisions.join('\n'),
      );
      assert.ok(!decisions.join('\n').includes('secret-7Jw'));
    });
  }
});

describe('the other parts', () => {
  test('users, groups, directories, links, disks, file systems, units', async () => {
    const { host, codes } = await converted({
      passwd: {
        users: [
          {
            name: 'ada',
            uid: 1200,
            system: true,
            groups: ['wheel'],
            shell: '/bin/zsh',
            sshAuthorizedKeys: ['ssh-ed25519 AAAA a'],
          },
        ],
        groups: [{ name: 'ops', gid: 1300 }],
      },
      storage: {
        directories: [{ path: '/srv/app', mode: 0o750, user: { name: 'ada' } }, { path: '/srv/plain' }],
        links: [{ path: '/etc/localtime', target: '/usr/share/zoneinfo/UTC', overwrite: true }],
        disks: [
          {
            device: '/dev/sdb',
            wipeTable: true,
            partitions: [
              { number: 1, label: 'log', sizeMiB: 1024, typeGuid: '0FC63DAF-8483-4772-8E79-3D69D8477DE4' },
              { label: 'data', sizeMiB: 0 },
            ],
          },
        ],
        filesystems: [
          {
            device: '/dev/disk/by-partlabel/data',
            format: 'xfs',
            label: 'data',
            path: '/var/data',
            wipeFilesystem: true,
            options: ['-f'],
          },
        ],
      },
      systemd: {
        units: [
          {
            name: 'var-data.mount',
            enabled: true,
            contents:
              '# Generated by Butane\n[Unit]\nRequires=systemd-fsck@dev-disk-by\\x2dpartlabel-data.service\nAfter=systemd-fsck@dev-disk-by\\x2dpartlabel-data.service\n\n[Mount]\nWhere=/var/data\nWhat=/dev/disk/by-partlabel/data\nType=xfs\n\n[Install]\nRequiredBy=local-fs.target\n',
          },
          {
            name: 'containerd.service',
            enabled: true,
            dropins: [{ name: '10-a.conf', contents: '[Service]\nCPUWeight=9\n' }],
          },
          { name: 'zincati.service', mask: true },
        ],
      },
    });
    assert.deepEqual(host.users, [
      {
        name: 'ada',
        uid: 1200,
        system: true,
        groups: ['wheel'],
        shell: '/bin/zsh',
        locked: false,
        sshAuthorizedKeys: ['ssh-ed25519 AAAA a'],
      },
    ]);
    assert.deepEqual(host.groups, [{ name: 'ops', gid: 1300 }]);
    assert.deepEqual(host.directories, [
      { path: '/srv/app', mode: '0750', owner: 'ada:root' },
      { path: '/srv/plain', mode: '0755', owner: 'root:root' },
    ]);
    assert.deepEqual(host.links, [{ path: '/etc/localtime', target: '/usr/share/zoneinfo/UTC', force: true }]);
    const device = { path: '/dev/disk/by-partlabel/data' };
    assert.deepEqual(host.storage, {
      disks: [
        {
          device: { path: '/dev/sdb' },
          table: 'gpt',
          wipe: true,
          partitions: [
            { label: 'log', size: '1024Mi', type: '0fc63daf-8483-4772-8e79-3d69d8477de4' },
            { label: 'data', size: 'Rest' },
          ],
        },
      ],
      filesystems: [{ device, type: 'xfs', label: 'data', options: ['-f'], overwrite: true }],
      mounts: [{ device, path: '/var/data', type: 'xfs' }],
    });
    assert.deepEqual(host.services, [
      {
        name: 'containerd.service',
        enabled: true,
        state: 'Started',
        dropIns: [{ name: '10-a.conf', content: '[Service]\nCPUWeight=9\n' }],
      },
      { name: 'zincati.service', masked: true },
    ]);
    assert.deepEqual(
      codes.filter((code) => code.startsWith('Container')),
      [],
    );
  });

  const dropped: readonly (readonly [string, object, RegExp])[] = [
    [
      'kernel arguments',
      { kernelArguments: { shouldExist: ['quiet'] } },
      /kernelArguments\.shouldExist\[0\]: .*boot loader/,
    ],
    [
      'a user to be removed',
      { passwd: { users: [{ name: 'core', shouldExist: false }] } },
      /passwd\.users\[0\]: it is to be removed/,
    ],
    [
      'a hard link',
      { storage: { links: [{ path: '/a', target: '/b', hard: true }] } },
      /storage\.links\[0\]: a hard link/,
    ],
    ['RAID', { storage: { raid: [{ name: 'md0', level: 'raid1' }] } }, /storage\.raid\[0\]/],
    ['LUKS', { storage: { luks: [{ name: 'x', keyFile: { source: 'data:,secret-7Jw' } }] } }, /storage\.luks\[0\]/],
    [
      'a partition in the middle',
      { storage: { disks: [{ device: '/dev/sdb', partitions: [{ number: 3, sizeMiB: 9 }] }] } },
      /storage\.disks\[0\]: \/dev\/sdb: write its partitions/,
    ],
    [
      'a mount while Ignition runs',
      { storage: { filesystems: [{ device: '/dev/sdb', format: 'ext4', path: '/x' }] } },
      /filesystems\[0\]\.path: no unit mounts \/x later/,
    ],
    ['a time limit', { ignition: { version: '3.4.0', timeouts: { httpTotal: 9 } } }, /ignition\.timeouts\.httpTotal/],
  ];
  for (const [what, config, expected] of dropped) {
    test(`${what}: a decision that says what to do`, async () => {
      const { decisions } = await converted(config);
      const told = decisions.filter((one) => one.startsWith('ContainerLinuxConfigDropped'));
      assert.ok(
        told.some((one) => expected.test(one)),
        decisions.join('\n'),
      );
      assert.ok(!decisions.join('\n').includes('secret-7Jw'));
    });
  }

  for (const config of [
    { merge: [{ source: 'https://x.example/a.ign' }] },
    { replace: { source: 's3://secret-7Jw/a' } },
  ]) {
    test(`another config by ${Object.keys(config).join()} is an error`, async () => {
      const { document, decisions } = await converted({ ignition: { version: '3.3.0', config } });
      assert.equal(document, undefined);
      assert.ok(
        decisions.some((one) =>
          /^ToolFirst node\.ign: ignition\.config\.(?:merge\[0\]|replace): .*one config/.test(one),
        ),
      );
      assert.ok(!decisions.join('\n').includes('secret-7Jw'));
    });
  }

  test('versions', async () => {
    for (const version of ['3.0.0', '3.6.0']) assert.ok((await converted({}, version)).document);
    for (const version of ['3.7.0', '3.5.0-experimental', '4.0.0', '2.4.0']) {
      const { decisions } = await converted({}, version);
      assert.deepEqual(decisions, [
        'InputInvalid node.ign: ignition.version: expected Ignition 2.0 to 2.3, or 3.0 to 3.6',
      ]);
    }
  });
});

describe('kubeadm', () => {
  const files = [
    { path: '/etc/kubeadm.yml', mode: 0o600, contents: { source: `data:,${encodeURIComponent(JOIN)}` } },
    {
      path: '/etc/kubeadm.sh',
      mode: 0o700,
      contents: {
        source: `data:,${encodeURIComponent('#!/bin/bash\nset -e\necho a\nkubeadm join --config /etc/kubeadm.yml\n')}`,
      },
    },
  ];
  const unit = (contents: string): object => ({ name: 'kubeadm.service', enabled: true, contents });

  test('as the provider runs it', async () => {
    const { document, decisions } = await converted({
      storage: { files },
      systemd: {
        units: [
          unit(
            '[Unit]\nConditionPathExists=/etc/kubeadm.yml\n[Service]\nExecStart=/etc/kubeadm.sh\n[Install]\nWantedBy=multi-user.target\n',
          ),
        ],
      },
    });
    assert.equal(document?.kubernetes.role, 'Worker', decisions.join('\n'));
    assert.deepEqual(document.secrets, { joinToken: { value: TOKEN } });
    assert.deepEqual(document.host.hooks.beforeBootstrap.commands, ['set -e', 'echo a']);
  });

  test("in a unit of one's own it is an error, not a unit that is left out", async () => {
    const { document, codes } = await converted({
      systemd: {
        units: [
          unit(
            `[Service]\nType=oneshot\nExecStart=/usr/bin/kubeadm join api:6443 --token ${TOKEN}\n[Install]\nWantedBy=multi-user.target\n`,
          ),
        ],
      },
    });
    assert.deepEqual([document, codes.includes('KubeadmHidden')], [undefined, true]);
  });
});
