import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { before, describe, test } from 'node:test';
import { parse, stringify } from 'yaml';
import { converting, EXAMPLES, goldenUserData } from '../support/capi.ts';
import { CaseRoot } from '../support/case-root.ts';
import { accountsOf, INSTANCE, runCloudInit } from '../support/cloud-init-run.ts';
import { debianCloudInit } from '../support/debian-cloud-init.ts';
import { loopDevice } from '../support/loop-device.ts';
import { inNamespaces } from '../support/namespace.ts';
import { needs } from '../support/needs.ts';

const APPLY = resolve(import.meta.dirname, '../fixtures/features/apply-document.ts');

/** What a command calls that would want a real machine writes its words down, and succeeds. */
const STAND_IN = `#!/bin/sh
if [ "\${0##*/}" = cloud-init-per ]; then shift 2; exec "$@"; fi
echo "\${0##*/} $*" >>/run/case/calls
case "\${0##*/} $*" in "kubeadm version"*) echo v1.35.2;; esac
`;
const STAND_INS = ['kubeadm', 'systemctl', 'hostnamectl', 'ctr', 'update-ca-certificates', 'cloud-init-per'];

/** Of cloud-init itself, or written in another way on purpose. */
const ELSEWHERE = [
  /^\/(?:var\/lib\/cloud|run\/cloud-init|etc\/cloud|usr\/local)(?:\/|$)/,
  /^\/(?:var\/log\/cloud-init|run\/blkid(?:\/|$)|etc\/hostname$)/,
  // The file only made the directory; the sentinel is a step of its own.
  /^\/run\/cluster-api(?:\/|$)/,
  // Compared parsed, for every version of kubeadm, in test/unit/convert/golden.test.ts; here it is 0600.
  /^\/run\/kubeadm(?:\/|$)/,
  // One rule in another file, compared below; and useradd's copies and locks.
  /^\/etc\/sudoers\.d(?:\/|$)/,
  /^\/etc\/(?:shadow|gshadow|passwd|group|subuid|subgid)-?$/,
  /^\/etc\/\.pwd\.lock$/,
  /^\/home\/[^/]+\/\.ssh(?:\/|$)/,
  /^\/run\/(?:case|machineadm|lock)(?:\/|$)/,
  /__pycache__/,
];

// Fetched before the network is gone.
const cloudInit = debianCloudInit();

inNamespaces(import.meta.filename, () => {
  const skip = needs(cloudInit);
  const library = 'root' in cloudInit ? cloudInit.root : '';

  describe("files, users and commands of golden user data, by Debian's cloud-init and by machineadm", { skip }, () => {
    for (const { name, golden, version } of EXAMPLES) {
      if (name === '05-worker-windows') continue;
      for (const kind of golden) {
        describe(`${name}.${kind}`, () => {
          const trees: Record<'golden' | 'converted', Effects | undefined> = {
            golden: undefined,
            converted: undefined,
          };

          before(async () => {
            // What it writes is written, but not into the kernel that the tests share.
            const userData = goldenUserData(name, kind)
              .replace('/sys/class/scsi_host/host*/scan', '/srv/scan')
              // Disks and mounts are the other test's: they want real ones.
              .replace(/^(?:disk_setup|fs_setup|mounts|ntp):\n(?:[ \t].*\n|\n)*/gm, '');
            assert.deepEqual(
              Object.keys(parse(userData)).filter((key) => /disk|fs_|mounts|ntp/.test(key)),
              [],
            );
            using theirs = new CaseRoot(`${name}-${kind}-golden`);
            trees.golden = effects(theirs, () => runCloudInit(theirs, library, userData));
            const { documents } = await converting([userData], { kubernetesVersion: version });
            using ours = new CaseRoot(`${name}-${kind}-converted`);
            trees.converted = effects(ours, () => apply(ours, documents[0]?.yaml ?? ''));
          });

          test('leave the same files with both programs', () => {
            assert.ok(trees.golden && trees.golden.files.size > 0);
            assert.deepEqual(trees.converted?.files, trees.golden.files);
          });
          test('create the same users with both programs, with the same keys and rights', () => {
            assert.deepEqual(trees.converted?.accounts, trees.golden?.accounts);
          });
          test('run the same programs in the same order with both programs', () => {
            // kubeadm itself is run by a step, not by a command.
            const around = (calls: readonly string[] = []) =>
              calls.filter((call) => !/^kubeadm (?:init|join|config)/.test(call));
            assert.deepEqual(around(trees.converted?.calls), around(trees.golden?.calls));
          });
        });
      }
    }
  });

  test("the mounts of golden user data, by Debian's cloud-init and by machineadm", { skip }, async () => {
    const { mounts } = parse(goldenUserData('03-controlplane-etcd-disk', 'init'));
    const seen: string[][] = [];
    for (const how of ['golden', 'converted'] as const) {
      using devices = new DisposableStack();
      // By path: this cloud-init takes no labels (cc_mounts.py, sanitize_devname), and loop devices are everybody's.
      let userData = `#cloud-config\n${stringify({ mounts })}`;
      for (const [label, type] of [
        ['etcd_disk', 'ext4'],
        ['containerd', 'xfs'],
        ['k8slogs', 'ext4'],
      ] as const) {
        const { path } = devices.use(loopDevice(320));
        userData = userData.replace(`LABEL=${label}`, path);
        const made = spawnSync(`mkfs.${type}`, ['-q', '-L', label, path], { encoding: 'utf8' });
        assert.equal(made.status, 0, made.stderr);
      }
      const root = devices.use(new CaseRoot(`mounts-${how}`));
      layStandIns(root);
      root.shell('printf "" >/etc/fstab');
      if (how === 'golden') {
        // Without systemd cloud-init writes options of upstart, with which nothing is mounted.
        root.shell('mkdir -p /run/systemd/system');
        runCloudInit(root, library, userData, ['mounts']);
      } else apply(root, (await converting([userData])).documents[0]?.yaml ?? '');
      const shown = root.shell('findmnt -rn -o TARGET,LABEL,FSTYPE,OPTIONS -t ext4,xfs');
      seen.push(
        shown
          .split('\n')
          .filter((line) => /^\/var\//.test(line))
          .map((line) => line.replace(/ \S*(noatime|relatime)\S*$/, ' $1'))
          .sort(),
      );
    }
    assert.deepEqual(seen[0], [
      '/var/lib/containerd containerd xfs noatime',
      '/var/lib/etcddisk etcd_disk ext4 relatime',
      '/var/log/pods k8slogs ext4 relatime',
    ]);
    assert.deepEqual(seen[1], seen[0]);
  });
});

interface Effects {
  /** Type, mode, owner and content of everything that changed, by path. */
  readonly files: ReadonlyMap<string, string>;
  readonly accounts: readonly string[];
  readonly calls: readonly string[];
}

function layStandIns(root: CaseRoot): void {
  for (const name of STAND_INS) writeFileSync(root.outside(`/usr/local/bin/${name}`), STAND_IN);
  root.shell(`cd /usr/local/bin; chmod 0755 ${STAND_INS.join(' ')}; mkdir -p /run/cloud-init; touch /run/case/calls`);
}

/** What `run` changes in a root. */
function effects(root: CaseRoot, run: () => void): Effects {
  layStandIns(root);
  const data = { ds: { meta_data: INSTANCE }, v1: { local_hostname: 'node-1', instance_id: 'i-1' } };
  writeFileSync(root.outside('/run/cloud-init/instance-data.json'), JSON.stringify(data));
  const earlier = accountsOf(root);
  run();
  const files = new Map<string, string>();
  for (const path of root.changed().keys()) {
    if (!ELSEWHERE.some((pattern) => pattern.test(path))) files.set(path, looks(root.outside(path)));
  }
  const accounts = accountsOf(root).filter((line) => !earlier.includes(line));
  const calls = readFileSync(root.outside('/run/case/calls'), 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return { files, accounts, calls };
}

function looks(path: string): string {
  const found = lstatSync(path);
  const who = `${(found.mode & 0o177777).toString(8)} ${found.uid}:${found.gid}`;
  return found.isFile() ? `${who} ${readFileSync(path, 'utf8')}` : who;
}

function apply(root: CaseRoot, document: string): void {
  mkdirSync(root.outside('/run/case'), { recursive: true });
  writeFileSync(root.outside('/run/case/document.yaml'), document, { mode: 0o600 });
  const [program = '', ...args] = root.wrapper;
  const done = spawnSync(program, [...args, process.execPath, APPLY, '/run/case/document.yaml'], {
    encoding: 'utf8',
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8', HOME: '/root' },
  });
  assert.equal(done.status, 0, `${done.stdout}${done.stderr}`);
}
