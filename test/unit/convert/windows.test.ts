import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { codesOf, converting, goldenUserData } from '../../support/capi.ts';

const VERSION = { kubernetesVersion: 'v1.35.2' };
const GOLDEN = goldenUserData('05-worker-windows', 'join-worker');

interface WrittenFile {
  readonly path: string;
  readonly content: string;
}

/** A KubeadmConfig of a Windows worker. */
function config(spec: object): object {
  return {
    apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta2',
    kind: 'KubeadmConfig',
    metadata: { name: 'a' },
    spec: {
      joinConfiguration: {
        discovery: {
          bootstrapToken: {
            token: 'abcdef.0123456789abcdef',
            apiServerEndpoint: 'a:6443',
            caCertHashes: [`sha256:${'0'.repeat(64)}`],
          },
        },
        nodeRegistration: { criSocket: 'npipe:////./pipe/containerd-containerd' },
      },
      ...spec,
    },
  };
}

async function converted(spec: object, options = {}) {
  const conversion = await converting([config(spec)], { ...VERSION, ...options });
  return { conversion, document: parse(conversion.documents[0]?.yaml ?? '') };
}

describe('golden user data of a Windows worker, converted', () => {
  test('writes the same files, and runs the same commands around kubeadm in one batch each', async () => {
    const conversion = await converting([GOLDEN], VERSION);
    const { host, secrets } = parse(conversion.documents[0]?.yaml ?? '');
    assert.equal(host.platform, 'Windows');
    const golden = parse(GOLDEN);
    // kubeadm's file is a step's, and the placeholder makes a directory that the sentinel's step makes.
    const theirs = golden.write_files.filter(({ path }: WrittenFile) => !path.startsWith('/run/'));
    assert.equal(theirs.length, 4);
    const ours = host.files.map(
      ({ path, content, contentFrom }: WrittenFile & { contentFrom?: { secret: string } }) => ({
        path,
        content: contentFrom === undefined ? content : secrets[contentFrom.secret].value,
      }),
    );
    assert.deepEqual(
      ours,
      theirs.map(({ path, content }: WrittenFile) => ({ path, content })),
    );
    const { beforeBootstrap, afterBootstrap, early } = host.hooks;
    for (const { shell, onError } of [beforeBootstrap, afterBootstrap]) {
      assert.deepEqual([shell, onError], ['cmd', 'Continue'], 'a batch file goes on behind a failure');
    }
    assert.equal(early, undefined);
    const kubeadm = golden.runcmd.findIndex((command: string) => command.startsWith('kubeadm join'));
    assert.deepEqual(beforeBootstrap.commands, golden.runcmd.slice(0, kubeadm));
    assert.deepEqual(afterBootstrap.commands, golden.runcmd.slice(kubeadm + 1));
  });

  test('needs a decision for its account only', async () => {
    const { decisions } = await converting([GOLDEN], VERSION);
    const open = decisions.filter(({ severity }) => severity === 'decision');
    assert.deepEqual(
      open.map(({ code, message }) => [code, message]),
      [['WindowsHost', 'the user capi']],
    );
  });
});

describe('a Windows machine', () => {
  for (const [permissions, mode] of [
    [undefined, '0644'],
    ['0640', '0600'],
    ['0400', '0600'],
    ['0700', '0700'],
    ['0744', '0644'],
    ['0755', '0755'],
    ['0666', '0644'],
  ] as const) {
    test(`has files with the permissions ${permissions ?? 'that are absent'} as ${mode}`, async () => {
      const files = [{ path: 'C:\\k\\a.txt', content: 'a\n', owner: 'root:root', permissions }];
      const { conversion, document } = await converted({ files });
      const [file] = document.host.files;
      assert.deepEqual([file.mode, file.owner], [mode, undefined]);
      assert.ok(codesOf(conversion, 'note').includes('WindowsPermissions'));
    });
  }

  test('keeps a file for administrators as a secret, whatever its path is written with', async () => {
    const files = [{ path: 'C:\\k\\join.pw', content: 'not for everybody', permissions: '0600' }];
    const { document } = await converted({ files });
    assert.deepEqual(document.host.files[0].contentFrom, { secret: 'C-k-join-pw' });
    assert.equal(document.secrets['C-k-join-pw'].value, 'not for everybody\n');
  });

  test('has time servers, and no setting of a Linux service', async () => {
    const { conversion, document } = await converted({ ntp: { enabled: true, servers: ['time.example'] } });
    assert.deepEqual(document.host.time, { enabled: true, servers: ['time.example'] });
    assert.ok(!codesOf(conversion, 'note').includes('TimeServiceNotInstalled'));
  });

  test('omits what a document has no field for, once that is accepted', async () => {
    const { conversion, document } = await converted({
      users: [{ name: 'ada' }],
      bootCommands: ['echo a'],
      mounts: [['D:', 'C:\\data']],
    });
    const told = conversion.decisions.filter(({ code }) => code === 'WindowsHost');
    assert.equal(told.length, 3);
    assert.deepEqual(document.host, { platform: 'Windows' });
  });

  test('knows its name, and no other instance data', async () => {
    for (const [expression, codes] of [
      ['ds.meta_data["local_hostname"]', []],
      ['ds.meta_data.hostname', []],
      ['v1.local_hostname', []],
      ['local_hostname', []],
      ['ds.meta_data.rack', ['DocumentRefused']],
    ] as const) {
      const { conversion } = await converted({ preKubeadmCommands: [`echo {{ ${expression} }}`] });
      assert.deepEqual(codesOf(conversion, 'error'), codes, expression);
    }
  });

  test('is lifted into no section of Linux by --structure', async () => {
    const preKubeadmCommands = ['modprobe br_netfilter', 'swapoff -a'];
    const { document } = await converted({ preKubeadmCommands }, { structure: true });
    assert.deepEqual(document.host.hooks.beforeBootstrap.commands, preKubeadmCommands);
  });
});
