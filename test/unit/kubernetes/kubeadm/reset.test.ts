import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { isExplainable } from '@machineadm/failures/explainable.ts';
import { takeInventory } from '../../../../src/kubernetes/kubeadm/inventory.ts';
import { resetArguments, resetNode } from '../../../../src/kubernetes/kubeadm/reset.ts';
import type { ResetOrder } from '../../../../src/kubernetes/kubeadm/reset-order.ts';
import { kubeconfig, newAuthority, nodeObject, startApiServer } from '../../../support/api-server.ts';
import { NO_ATTEMPT } from '../../../support/kubeadm-attempt.ts';
import { type MemoryMachine, type MemoryProgram, memoryHost } from '../../../support/memory-host.ts';
import { shortPauses } from '../../../support/short-pauses.ts';

const ORDER: ResetOrder = {
  criSocket: 'unix:///run/containerd/containerd.sock',
  certificatesDirectory: '/etc/kubernetes/pki',
  founded: false,
  offline: false,
  automatic: true,
  attempt: NO_ATTEMPT,
  inventory: [],
  nodeName: 'node-1',
  leftovers: [],
};
const PODS_PATIENCE_MS = 600;
const SERVICES = { containerd: {}, kubelet: { active: true } };

async function reset(machine: MemoryMachine, order: Partial<ResetOrder> = {}, patienceMs = PODS_PATIENCE_MS) {
  const host = memoryHost({ services: SERVICES, ...machine });
  const warnings: string[] = [];
  const waits: (string | undefined)[] = [];
  let error: unknown;
  try {
    await resetNode(
      host,
      { ...ORDER, ...order },
      {
        signal: new AbortController().signal,
        line: () => {},
        warn: (message) => void warnings.push(message),
        waitingFor: (what) => void waits.push(what),
      },
      patienceMs,
    );
  } catch (thrown) {
    error = thrown;
  }
  return { host, warnings, waits, error };
}

describe('kubeadm reset', () => {
  shortPauses();
  test('runs with the runtime up, and leaves the kubelet stopped', async () => {
    const { host, error } = await reset({ programs: { kubeadm: () => ({}) } });
    assert.equal(error, undefined);
    assert.deepEqual(host.log, [
      'service start containerd',
      'service stop kubelet',
      'remove pods of unix:///run/containerd/containerd.sock',
      'run kubeadm reset --force --cri-socket=unix:///run/containerd/containerd.sock --kubeconfig=/dev/null',
    ]);
  });

  test('never lets kubeadm contact a cluster: it would remove the etcd member of another machine of this name', () => {
    assert.ok(resetArguments(ORDER).includes('--kubeconfig=/dev/null'));
  });

  test('knows where the certificates are', () => {
    assert.ok(resetArguments({ ...ORDER, certificatesDirectory: '/opt/pki' }).includes('--cert-dir=/opt/pki'));
  });

  test('is followed by the removal of files that this kubeadm does not know', async () => {
    const conf = '/etc/kubernetes/super-admin.conf';
    const member = '/var/lib/etcd/member';
    const files = { [conf]: 'x', [`${member}/snap/db`]: 'x' };
    const programs = { kubeadm: () => ({}), rm: () => ({}) };
    const { host } = await reset({ files, programs }, { leftovers: [conf, member, '/etc/kubernetes/gone.conf'] });
    assert.deepEqual(host.log.slice(-2), [`remove ${conf}`, `run rm -r -f --one-file-system -- ${member}`]);
  });

  test('that fails is a failure of the bootstrapper, and nothing is deleted after it', async () => {
    const conf = '/etc/kubernetes/kubelet.conf';
    const kubeadm = () => ({ status: 1, stderr: 'error: cannot reset\n' });
    const { host, error } = await reset({ files: { [conf]: 'x' }, programs: { kubeadm } }, { leftovers: [conf] });
    assert.ok(error instanceof MachineadmError);
    assert.equal(error.reason, 'BootstrapperFailed');
    assert.deepEqual(error.transcript, [{ source: 'kubeadm', text: 'error: cannot reset' }]);
    assert.equal(host.text(conf), 'x');
  });

  test('that could not unmount has failed, although it ends with 0', async () => {
    const line = 'W1120 cleanupnode.go:79] [reset] Failed to unmount mounted directories in /var/lib/kubelet';
    const { error } = await reset({ programs: { kubeadm: () => ({ stderr: `${line}\n` }) } });
    assert.ok(error instanceof MachineadmError);
    assert.deepEqual([error.reason, error.exit], ['ResetFailed', 'BootstrapperFailed']);
    assert.equal(error.evidence[0]?.text, line);
  });

  describe('after the pods', () => {
    const line =
      'W1120 cleanupnode.go:81] [reset] Failed to remove containers: crictl is required for container runtime';
    const programs = { kubeadm: () => ({ stderr: `${line}\n` }) };
    const shim = (namespace: string): string =>
      ['/usr/bin/containerd-shim-runc-v2', '-namespace', namespace, '-id', 'abc', ''].join('\0');

    test('which are removed over CRI, also one that appears meanwhile', async () => {
      const files = { '/proc/70/cmdline': shim('k8s.io'), '/proc/1/cmdline': 'init' };
      let rounds = 0;
      const { host, error } = await reset({
        files,
        programs,
        removePods: (machine) => {
          rounds += 1;
          machine.take(`/proc/${rounds === 1 ? 70 : 72}/cmdline`);
          if (rounds === 1) machine.put('/proc/72/cmdline', shim('k8s.io'));
          return 1;
        },
      });
      assert.equal(error, undefined);
      assert.equal(rounds, 2);
      assert.equal(await host.stat('/proc/72/cmdline'), undefined);
    });

    test('has failed while pods run, by a reason of its own: the kubelet is stopped on purpose', async () => {
      const files = { '/proc/70/cmdline': shim('k8s.io'), '/proc/71/cmdline': shim('moby'), '/proc/1/cmdline': 'init' };
      const { host, error } = await reset({ files, programs });
      assert.ok(error instanceof MachineadmError);
      assert.ok(
        !host.log.some((line) => line.startsWith('run kubeadm')),
        'they would write in directories that it empties',
      );
      assert.deepEqual([error.reason, error.exit, error.retryable], ['ResetFailed', 'BootstrapperFailed', true]);
      assert.deepEqual(
        error.evidence.map(({ text }) => text),
        ['containerd shims of pods still run: 70'],
      );
      assert.equal(isExplainable({ reason: error.reason, summary: error.message }), false);
    });

    describe('and those that containerd forgot', () => {
      const address = '/run/containerd/containerd.sock';
      const forgotten = ['/usr/bin/containerd-shim-runc-v2', '-namespace', 'k8s.io', '-address', address, ''].join(
        '\0',
      );
      const files = {
        '/proc/1/cmdline': 'init',
        '/proc/70/cmdline': forgotten,
        '/proc/70/task/70/children': '',
        '/proc/70/task/71/children': '90 ',
        '/proc/90/cmdline': '/pause',
        '/proc/90/task/90/children': '91 92 ',
        '/proc/91/task/91/children': '',
        '/proc/92/task/92/children': '',
      };
      /** kill(1) of a shell: a process is gone, and so is the word of its parent. */
      const sh: MemoryProgram = ({ args }, host) => {
        for (const pid of args.slice(3)) {
          for (const path of Object.keys(files)) if (path.startsWith(`/proc/${pid}/`)) host.take(path);
          if (pid === '90') host.put('/proc/70/task/71/children', '');
        }
        return {};
      };
      const ends = (host: { readonly log: readonly string[] }) =>
        host.log.filter((line) => line.startsWith('run sh')).map((line) => line.replace(/^.* sh /, ''));

      test('are ended, their containers first, and then the reset goes on', async () => {
        const { host, error } = await reset({ files, programs: { ...programs, sh } }, {}, 5_000);
        assert.equal(error, undefined);
        assert.deepEqual(ends(host), ['90 91 92', '70']);
        assert.ok(host.log.at(-1)?.startsWith('run kubeadm reset'));
      });

      test('are left alone while the runtime knows a pod, or does not answer', async () => {
        const answers = [
          () => 1,
          () => {
            throw new MachineadmError({ reason: 'HostStepFailed', summary: 'no answer', remedy: 'Wait.' });
          },
        ];
        for (const removePods of answers) {
          const { host, error } = await reset({ files, programs: { ...programs, sh }, removePods });
          assert.ok(error instanceof MachineadmError);
          assert.deepEqual([error.reason, ends(host)], ['ResetFailed', []]);
        }
      });

      test('are left alone if another containerd started them, or the kernel does not tell what is below', async () => {
        const other = { '/proc/70/cmdline': forgotten.replace(address, '/run/k3s/containerd/containerd.sock') };
        const { '/proc/70/task/71/children': _, ...unknown } = { ...files, '/proc/70/task/71/comm': 'shim' };
        for (const found of [{ ...files, ...other }, unknown]) {
          const { host, error } = await reset({ files: found, programs: { ...programs, sh } });
          assert.ok(error instanceof MachineadmError);
          assert.deepEqual([error.reason, ends(host)], ['ResetFailed', []]);
        }
      });
    });

    test('has succeeded if no pod runs: a machine without crictl after a reboot', async () => {
      const { error } = await reset({ files: { '/proc/71/cmdline': shim('moby') }, programs });
      assert.equal(error, undefined);
    });
  });

  test('with a containerd that cannot start continues: the step of containerd reports why', async () => {
    const services = { kubelet: {}, containerd: { fails: 'containerd refuses its configuration' } };
    const { warnings, error } = await reset({ services, programs: { kubeadm: () => ({}) } });
    assert.equal(error, undefined);
    assert.match(warnings[0] ?? '', /refuses its configuration/);
  });
});

describe('a reset of a machine with files from before the bootstrap', () => {
  shortPauses();
  const BEFORE = {
    '/etc/kubernetes/pki/ca.crt': 'of the image',
    '/etc/kubernetes/pki/ca.key': 'of the image',
    '/etc/kubernetes/manifests/agent.yaml': 'of the image',
    '/var/lib/kubelet/seccomp/audit.json': 'of the image',
    '/var/lib/etcd/member/snap/db': 'restored',
  };
  const MADE = [
    '/etc/kubernetes/admin.conf',
    '/etc/kubernetes/manifests/etcd.yaml',
    '/etc/kubernetes/pki/apiserver.crt',
    '/etc/kubernetes/pki/etcd/peer.key',
    '/var/lib/kubelet/config.yaml',
    '/var/lib/kubelet/pods/1/volumes',
  ];
  const rm: MemoryProgram = (command, host) => {
    const gone = command.args.at(-1) ?? '';
    for (const path of [...MADE, gone]) if (path === gone || path.startsWith(`${gone}/`)) host.take(path);
    return {};
  };
  const programs = { rm, kubeadm: () => assert.fail('kubeadm reset empties whole directories') };
  const files = { ...BEFORE, ...Object.fromEntries(MADE.map((path) => [path, 'x'])) };
  const inventory = () => takeInventory(memoryHost({ files: BEFORE }), ORDER);

  test('keeps them byte for byte, and deletes the rest', async () => {
    const { host, error } = await reset({ files, programs }, { inventory: await inventory() });
    assert.equal(error, undefined);
    for (const [path, content] of Object.entries(BEFORE)) assert.equal(host.text(path), content, path);
    for (const path of MADE) assert.equal(await host.stat(path), undefined, path);
    assert.deepEqual(host.log.slice(0, 3), [
      'service start containerd',
      'service stop kubelet',
      'remove pods of unix:///run/containerd/containerd.sock',
    ]);
  });

  test('deletes nothing while pods run', async () => {
    const shim = ['/usr/bin/containerd-shim-runc-v2', '-namespace', 'k8s.io', ''].join('\0');
    const removePods = () => {
      throw new MachineadmError({ reason: 'ContainerdUnhealthy', summary: 'containerd is away', remedy: 'Start it.' });
    };
    const running = { ...files, '/proc/70/cmdline': shim };
    const { host, error } = await reset({ files: running, programs, removePods }, { inventory: await inventory() });
    assert.ok(error instanceof MachineadmError);
    assert.equal(error.reason, 'ResetFailed');
    assert.match(error.evidence.map(({ text }) => text).join('\n'), /still run: 70[\s\S]*containerd is away/);
    assert.equal(host.text('/etc/kubernetes/admin.conf'), 'x');
  });

  test('unmounts volumes of pods, and deletes nothing where one is in use', async () => {
    const mountinfo = '2 1 0:2 / /var/lib/kubelet/pods/1/volumes rw - nfs b rw\n';
    const busy = { ...programs, umount: () => ({ status: 32, stderr: 'target is busy' }) };
    const machine = { files, programs: busy, kernelFiles: { '/proc/self/mountinfo': mountinfo } };
    const { host, error } = await reset(machine, { inventory: await inventory() });
    assert.ok(error instanceof MachineadmError);
    assert.equal(error.reason, 'ResetFailed');
    assert.equal(host.text('/etc/kubernetes/admin.conf'), 'x');
  });

  test('deletes nothing that is mounted there', async () => {
    const mounted = '/var/lib/kubelet/backup';
    const machine = {
      files: { ...files, [`${mounted}/precious`]: 'x' },
      programs,
      kernelFiles: { '/proc/self/mountinfo': `2 1 0:2 / ${mounted} rw - tmpfs b rw\n` },
    };
    const { host } = await reset(machine, { inventory: await inventory() });
    assert.equal(host.text(`${mounted}/precious`), 'x');
    assert.equal(host.text('/var/lib/kubelet/config.yaml'), undefined);
  });
});

describe('the Node of the earlier attempt', () => {
  shortPauses();
  const authority = newAuthority();
  const credential = (url: string) => kubeconfig(url, authority.certificate, authority.issue('system:node:node-1'));

  test('is awaited while it counts as Ready, with the credential the reset deletes', async () => {
    let asked = 0;
    await using server = await startApiServer(authority, () => {
      asked += 1;
      return nodeObject({ ready: asked === 1 ? 'True' : 'Unknown' });
    });
    const files = { '/etc/kubernetes/kubelet.conf': credential(server.url) };
    const { waits } = await reset({
      files,
      programs: {
        kubeadm: (_command, host) => {
          host.take('/etc/kubernetes/kubelet.conf');
          return {};
        },
      },
    });
    assert.deepEqual(waits, ['the cluster to notice that Node node-1 has stopped', undefined]);
    assert.equal(asked, 2);
  });

  test('is not awaited where it is that of another machine of this name: it stays Ready', async () => {
    await using server = await startApiServer(authority, () =>
      nodeObject({ ready: 'True', machineID: 'f'.repeat(32) }),
    );
    const files = { '/etc/kubernetes/kubelet.conf': credential(server.url) };
    const { waits } = await reset({ files, programs: { kubeadm: () => ({}) } }, { machineId: '0'.repeat(32) });
    assert.deepEqual(waits, []);
  });

  test('is not awaited on a copied disk', async () => {
    await using server = await startApiServer(authority, () => nodeObject({ ready: 'True' }));
    const files = { '/etc/kubernetes/kubelet.conf': credential(server.url) };
    await reset({ files, programs: { kubeadm: () => ({}) } }, { offline: true });
    assert.deepEqual(server.requests, []);
  });
});
