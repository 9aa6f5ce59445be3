import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { initDocument, merge, newSeeds } from '../support/documents.ts';
import { processes } from '../support/interrupt.ts';
import { assertSucceeded, Fleet, JOURNAL, LAB, provisionOnce, SENTINEL, told } from '../support/lab.ts';
import { needs } from '../support/needs.ts';

const MINUTE = 60_000;
const skip = needs(...LAB, 'MACHINEADM_E2E=all');

/** Units with their states, and everything else that a host document changes; not backups of shadow-utils. */
const STATE_OF_A_HOST = `
systemctl list-unit-files --no-legend --plain | awk '{ print $1, $2 }' | sort
for unit in chrony systemd-timesyncd kubelet containerd cron e2e-there e2e-masked e2e-ours; do
  echo "$unit $(systemctl show --property=ActiveState --property=LoadState --property=UnitFileState --value "$unit" | tr '\\n' ' ')"
done
cat /proc/swaps; hostname; timedatectl show --property=Timezone --property=NTP 2>/dev/null
find /etc /home /usr/local /run/e2e -xdev ! -name '*-' ! -name .pwd.lock ! -name .updated -printf '%p %y %m %U:%G %l\\n' 2>/dev/null | sort
find /etc /usr/local -xdev -type f ! -name '*-' -exec sha256sum {} + | sort -k2
`;

describe('machineadm reset', { skip, timeout: 25 * MINUTE }, () => {
  const seeds = newSeeds();

  const fleet = Fleet.ofSuite();

  test('removes a control plane and nothing of others, and the control plane can be created again', {
    timeout: 15 * MINUTE,
  }, async () => {
    const node = await fleet.start({ name: 'e2e-r1', ip: '10.99.0.73' });
    await node.machine.write('/etc/others', 'of others\n');
    await node.machine.write('/etc/e2e-appended', 'was here\n');
    const containerd = await node.read('/etc/containerd/config.toml');
    const files = [{ path: '/etc/e2e-appended', content: 'ours\n', append: true }];
    const document = initDocument(node.site, seeds);
    const host = document.host as { readonly files: readonly unknown[] };
    await provisionOnce(node, merge(document, { host: { files: [...host.files, ...files] } }));

    const refused = await node.agent(['reset']);
    assert.equal(refused.exitCode, 2, 'nobody is there to be asked');
    const dry = await node.agent(['reset', '--dry-run']);
    assert.equal(dry.exitCode, 0, told(dry));
    assert.match(dry.stdout, /^kubeadm reset$/m);
    assert.match(dry.stdout, /^remove \/etc\/e2e\/plain\.conf$/m);
    assert.match(dry.stdout, /^restore \/etc\/e2e-appended as it was$/m);
    assert.equal(await node.read(SENTINEL), 'success\n', 'nothing was changed');

    // A file system of somebody else below what kubeadm would delete: it deletes through mounts it cannot undo.
    await node.machine.shell('mkdir -p /var/lib/kubelet/backup && mount -t tmpfs tmpfs /var/lib/kubelet/backup');
    await node.machine.write('/var/lib/kubelet/backup/precious', 'x');
    const foreign = await node.agent(['reset', '--yes']);
    assert.equal(foreign.exitCode, 4, told(foreign));
    assert.match(foreign.stderr, /MountInTheWay/);
    assert.equal(await node.read('/var/lib/kubelet/backup/precious'), 'x');
    assert.equal(await node.read(SENTINEL), 'success\n', 'nothing was changed');
    await node.machine.shell('umount /var/lib/kubelet/backup');

    const done = await node.agent(['reset', '--yes']);
    assert.equal(done.exitCode, 0, told(done));
    for (const gone of [
      SENTINEL,
      '/etc/kubernetes/admin.conf',
      '/etc/kubernetes/pki/ca.key',
      '/etc/e2e/plain.conf',
      '/etc/e2e/secret.conf',
      JOURNAL,
    ]) {
      assert.equal(await node.read(gone), undefined, `${gone} is gone`);
    }
    assert.equal(await node.read('/etc/others'), 'of others\n');
    assert.equal(await node.read('/etc/e2e-appended'), 'was here\n');
    assert.equal(await node.read('/etc/containerd/config.toml'), containerd, 'as it was before');
    assert.equal((await node.machine.shell('ls /var/lib/kubelet/pods 2>/dev/null | wc -l')).trim(), '0');
    assert.notEqual(await node.read(`${JOURNAL}.reset`), undefined, 'the journal is kept beside');

    const again = await node.agent(['reset', '--yes']);
    assert.equal(again.exitCode, 0, told(again));
    assert.match(told(again), /there is nothing to undo: /);
    await assertSucceeded(node, await node.provision());

    // containerd forgets its pods, as when the call that creates one is cancelled; their processes go on.
    await node.machine.shell(
      `systemctl stop kubelet containerd
       umount -l $(awk '$2 ~ "v2.task/k8s.io/" { print $2 }' /proc/mounts)
       rm -r /run/containerd/io.containerd.runtime.v2.task/k8s.io /var/lib/containerd/io.containerd.metadata.v1.bolt
       systemctl start containerd`,
    );
    const ofPods = '^(/usr/bin/containerd-shim|/pause|etcd |kube-)';
    assert.notDeepEqual(await processes(node, ofPods), []);
    const forgotten = await node.agent(['reset', '--yes']);
    assert.equal(forgotten.exitCode, 0, told(forgotten));
    assert.match(told(forgotten), /end the containers of a pod that containerd forgot: /);
    assert.deepEqual(await processes(node, ofPods), []);
    assert.equal(await node.read('/var/lib/etcd/member/snap/db'), undefined);
  });

  test('restores units, accounts, the time service, trusted certificates and files of a host', {
    timeout: 10 * MINUTE,
  }, async () => {
    const node = await fleet.start({ name: 'e2e-r2', ip: '10.99.0.74' });
    // The clock is that of all machines here: no chronyd may move it (chronyd(8), -x). The kubelet has no configuration yet.
    await node.machine.shell(
      `printf 'DAEMON_OPTS="-F 1 -x"\\n' >/etc/default/chrony; systemctl disable --now kubelet
printf '[Service]\\nExecStart=/bin/sleep infinity\\n[Install]\\nWantedBy=multi-user.target\\n' | tee /etc/systemd/system/e2e-there.service /usr/lib/systemd/system/e2e-masked.service >/dev/null
systemctl daemon-reload; systemctl enable --now e2e-there; systemctl enable chrony; systemctl mask e2e-masked
printf '/dev/e2e-swap none swap sw 0 0\\n' >>/etc/fstab`,
    );
    const stateOf = () => node.machine.shell(STATE_OF_A_HOST);
    const before = await stateOf();
    const unit = '[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n';
    await node.lay({
      apiVersion: 'machineadm.dev/v1alpha1',
      kind: 'MachineBootstrap',
      metadata: { name: 'e2e-r2' },
      host: {
        hostname: 'e2e-undone',
        timezone: 'Europe/Zurich',
        swap: 'Disabled',
        time: { enabled: false },
        certificateAuthorities: [{ name: 'e2e', pem: seeds.caCertificate }],
        groups: [{ name: 'undone', gid: 4321 }],
        users: [{ name: 'grace', uid: 4322, groups: ['undone'] }],
        files: [
          { path: '/etc/systemd/system/e2e-ours.service', content: unit },
          { path: '/etc/tmpfiles.d/e2e.conf', content: 'd /run/e2e 0755 root root\n' },
        ],
        services: [
          { name: 'e2e-ours', enabled: true, state: 'Started' },
          {
            name: 'e2e-there',
            enabled: false,
            state: 'Stopped',
            dropIns: [{ name: '10-e2e.conf', content: '[Service]\n' }],
          },
          { name: 'e2e-masked', masked: false, enabled: true, state: 'Started' },
        ],
      },
      reporting: { sinks: [] },
    });
    await assertSucceeded(node, await node.provision());
    assert.notEqual(await stateOf(), before);

    const dry = await node.agent(['reset', '--dry-run']);
    const done = await node.agent(['reset', '--yes']);
    assert.equal(done.exitCode, 0, told(done));
    const planned = dry.stdout.split('\n').filter((line) => line !== '' && !line.includes('nothing was changed'));
    assert.ok(planned.length > 10);
    for (const line of planned) assert.ok(told(done).includes(line), `${line}\n${told(done)}`);
    assert.deepEqual((await stateOf()).split('\n'), before.split('\n'));
    const again = await node.agent(['reset', '--dry-run']);
    assert.equal(again.exitCode, 0, told(again));
    assert.match(told(again), /there is nothing to undo: /);
  });
});
