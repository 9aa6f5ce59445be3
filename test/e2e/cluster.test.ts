import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { attempts, HOOK_TRACE, initDocument, merge, newSeeds, workerDocument } from '../support/documents.ts';
import { assertFailed, assertSucceeded, Fleet, LAB, type Node, SENTINEL } from '../support/lab.ts';
import { needs } from '../support/needs.ts';
import { differences, takeSnapshot } from '../support/snapshot.ts';
import { assertNoLeaks, failTwice, provisionTwice } from '../support/twice.ts';

const MINUTE = 60_000;

describe('a control plane and the workers that join it', {
  skip: needs(...LAB),
  timeout: 15 * MINUTE,
}, () => {
  const seeds = newSeeds();
  let controlPlane: Node;
  let worker: Node;

  const fleet = Fleet.ofSuite(async () => {
    controlPlane = await fleet.start({ name: 'e2e-cp1', ip: '10.99.0.21' });
    worker = await fleet.start({ name: 'e2e-w1', ip: '10.99.0.22' });
  });

  const kubectl = (...args: string[]) =>
    controlPlane.machine.exec(['kubectl', '--kubeconfig', '/etc/kubernetes/admin.conf', ...args], {
      timeoutMs: MINUTE,
    });

  test('plan lists every change and changes nothing', async () => {
    await controlPlane.lay(initDocument(controlPlane.site, seeds));
    const before = await takeSnapshot(controlPlane.machine);
    const changes = await controlPlane.plan();
    const after = await takeSnapshot(controlPlane.machine);
    assert.deepEqual(differences(before, after), []);
    assert.equal(new Set(changes.map((change) => change.id)).size, changes.length, 'each change has an id of its own');
    assert.ok(changes.length > 15, `only ${changes.length} changes`);
  });

  test('plan opens no file for writing and starts no program that changes anything', async () => {
    const trace = '/run/plan.strace';
    const calls =
      'execve,open,openat,creat,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,chmod,fchmodat,chown,fchownat,lchown,mount,umount2,symlink,symlinkat,link,linkat,truncate,sethostname,kill';
    await controlPlane.plan([
      'strace',
      '-f',
      '--seccomp-bpf',
      '-qq',
      '-s',
      '300',
      '-e',
      `trace=${calls}`,
      '-e',
      'signal=none',
      '-o',
      trace,
    ]);
    const lines = ((await controlPlane.read(trace)) ?? '').split('\n').map((line) => line.replace(/^\d+\s+/, ''));
    // An interleaved call is judged by its first half, which has the arguments; a thread that ended is told as ???.
    const done = lines.filter((line) => line !== '' && !/ = -1 E|^<\.\.\. |^\?\?\?\(/.test(line));
    const programs = done.filter((line) => line.startsWith('execve(')).map((line) => /\[(.*?)\]/.exec(line)?.[1] ?? '');
    assert.match(programs[0] ?? '', /machineadm/);
    const mutating =
      /^"[^"]*\b(kubeadm", "(init|join|reset)|systemctl", "(start|stop|restart|enable|disable|daemon-reload|mask)|ctr|modprobe|sysctl|mount|swapoff|hostnamectl", "set|sh|bash)\b/;
    assert.deepEqual(
      // `sh -n` reads a script without executing it.
      programs.filter((program) => mutating.test(program) && !program.startsWith('"sh", "-n"')),
      [],
    );
    const writes = done.filter((line) => {
      if (line.startsWith('execve(')) return false;
      // a file without a name, in memory: what a query is given to read
      if (line.includes('"/dev/shm"') && line.includes('O_TMPFILE')) return false;
      if (/^open(at)?\(/.test(line))
        return /O_WRONLY|O_RDWR|O_CREAT/.test(line) && !/"\/dev\/(null|tty|urandom)"|"\/proc\/self\//.test(line);
      return /^kill\(/.test(line) ? !/, 0\)/.test(line) : true;
    });
    assert.deepEqual(writes, []);
  });

  test('init makes a fresh machine a registered control plane, and a second run has nothing to do', {
    timeout: 6 * MINUTE,
  }, async () => {
    const first = await provisionTwice(controlPlane, initDocument(controlPlane.site, seeds), seeds);
    assert.equal(await controlPlane.read(SENTINEL), 'success\n');
    assert.equal(await controlPlane.read(HOOK_TRACE), 'early\nbeforeBootstrap\nafterBootstrap\n', 'each hook ran once');
    assert.match((await kubectl('get', 'nodes', '-o', 'name')).stdout, /^node\/e2e-cp1$/m);
    assert.match(
      await controlPlane.machine.shell('stat -c "%a %U:%G" /etc/e2e/plain.conf /etc/e2e/secret.conf'),
      /^640 root:root\n600 root:root\n$/,
    );
    assert.equal(await controlPlane.read('/etc/e2e/secret.conf'), seeds.password);
    assert.equal(
      await controlPlane.read('/etc/kubernetes/pki/ca.crt'),
      seeds.caCertificate,
      "the document's CA is the cluster's",
    );

    const query = ['journalctl', '-o', 'json', '-a', '--no-pager', `MACHINEADM_RUN=${first.status.runId}`];
    const entries = (await controlPlane.machine.exec(query)).stdout
      .trim()
      .split('\n')
      .map((line): Record<string, string> => JSON.parse(line));
    assert.ok(entries.length > 5, 'the run is in the journal by its id');
    assert.ok(
      entries.some((entry) => entry.MACHINEADM_STEP !== undefined),
      'entries name their step',
    );
    assert.ok(
      entries.every((entry) => entry.MESSAGE_ID !== undefined),
      'entries have a message id',
    );
    assert.match(controlPlane.machine.console(), /machineadm.*(succeeded|Succeeded)/, 'the console was told');
  });

  test('a worker joins even if its containerd was stopped', { timeout: 4 * MINUTE }, async () => {
    await worker.machine.shell('systemctl stop containerd');
    await provisionTwice(worker, workerDocument(worker.site, seeds, controlPlane.machine.ip), seeds);
    assert.equal(await worker.read(SENTINEL), 'success\n');
    assert.match((await kubectl('get', 'nodes', '-o', 'name')).stdout, /^node\/e2e-w1$/m);
  });

  test('joins that cannot work fail with distinct reasons; the corrected document then joins', {
    timeout: 6 * MINUTE,
  }, async (t) => {
    const node = await fleet.start({ name: 'e2e-w2', ip: '10.99.0.23' });
    const good = merge(workerDocument(node.site, seeds, controlPlane.machine.ip), {
      kubernetes: { timeouts: { discovery: '10s' } },
    });
    const discovery = (token: object) => merge(good, { kubernetes: { join: { discovery: { token } } } });

    const [id] = seeds.token.split('.');
    const wrongSecret = { secrets: { joinToken: { value: `${id}.aaaaaaaaaaaaaaaa` } } };
    await t.test('wrong token', () =>
      failTwice(node, merge(good, wrongSecret), seeds, (run) =>
        assertFailed(node, run, 11, 'kubeadm', 'BootstrapTokenSecretMismatch'),
      ),
    );
    await t.test('wrong CA hash', () =>
      failTwice(node, discovery({ caCertHashes: [`sha256:${'0'.repeat(64)}`] }), seeds, (run) =>
        assertFailed(node, run, 11, 'kubeadm', 'CACertHashMismatch'),
      ),
    );
    const down = { endpoint: `${controlPlane.machine.ip}:6444` };
    await t.test('endpoint down: this may be temporary, so each run tries again', () =>
      failTwice(
        node,
        merge(merge(discovery(down), attempts(2)), { kubernetes: { timeouts: { discovery: '5s' } } }),
        seeds,
        async (run) => {
          await assertFailed(node, run, 11, 'kubeadm', 'APIEndpointConnectionRefused');
          assert.deepEqual(
            run.status.failedAttempts?.map(({ attempt, reason }) => [attempt, reason]),
            [[1, 'APIEndpointConnectionRefused']],
          );
        },
      ),
    );
    await t.test('corrected', async () => {
      await node.lay(good);
      const run = await node.provision();
      await assertSucceeded(node, run);
      await assertNoLeaks(node, seeds, { corrected: run });
    });
    await fleet.remove(node);
  });

  test('a copy of a provisioned disk, booted as another machine, bootstraps afresh', {
    timeout: 4 * MINUTE,
  }, async () => {
    const clone = await fleet.clone(worker, { name: 'e2e-w3', ip: '10.99.0.24' });
    assert.equal(await clone.read(SENTINEL), undefined);
    const first = await provisionTwice(clone, workerDocument(clone.site, seeds, controlPlane.machine.ip), seeds);
    assert.equal(first.status.attempt, 1, "the other machine's runs do not count");
    const machineId = (await clone.read('/etc/machine-id'))?.trim();
    const registered = await kubectl('get', 'node', 'e2e-w3', '-o', 'jsonpath={.status.nodeInfo.machineID}');
    assert.equal(registered.stdout, machineId);
    await fleet.remove(clone);
  });

  test('a reboot after success restores the sentinel and repeats nothing', { timeout: 4 * MINUTE }, async () => {
    const hooks = await controlPlane.read(HOOK_TRACE);
    await controlPlane.machine.reboot();
    const unit = await controlPlane.machine.shell('journalctl -b -u machineadm-sentinel.service -o cat --no-pager');
    assert.equal(await controlPlane.read(SENTINEL), 'success\n', unit);
    const run = await controlPlane.provision();
    await assertSucceeded(controlPlane, run);
    // The API server may still be on its way up, and then the proof is waited for; nothing else is done.
    assert.deepEqual(
      run.changes.filter((change) => change !== 'readiness/NodeRegistered'),
      [],
    );
    assert.equal(await controlPlane.read(HOOK_TRACE), hooks);
    assert.equal(await controlPlane.read(SENTINEL), 'success\n');
  });
});
