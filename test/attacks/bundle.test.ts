import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { agent } from '../support/agent.ts';
import { attack } from '../support/attacks.ts';
import { startJournald } from '../support/journald.ts';
import { inThrowAwayMachine } from '../support/namespace.ts';
import { needs } from '../support/needs.ts';
import { SECRET_LINES, withSecret } from '../support/secret-lines.ts';

const BUNDLE = '/tmp/secret-lines.tar.gz';
const TIMES = 3;

/** What programs of a node write, and what a bundle takes of it: the file, its name in the bundle, how a line stands in it. */
const PLACES: readonly (readonly [string, string, (line: string) => string])[] = [
  ['/var/log/cloud-init-output.log', 'logs/cloud-init-output.log', (line) => line],
  [
    '/var/log/pods/kube-system_etcd-n1_0/etcd/0.log',
    'logs/pods/etcd-0.log',
    (line) => `2026-11-22T10:00:00.000000000Z stderr F ${line}`,
  ],
  ['/etc/default/kubelet', 'files/etc/default/kubelet', (line) => line],
  ['/var/lib/kubelet/kubeadm-flags.env', 'files/var/lib/kubelet/kubeadm-flags.env', (line) => `# ${line}`],
  ['/etc/containerd/config.toml', 'files/etc/containerd/config.toml', (line) => `# ${line}`],
];

inThrowAwayMachine(import.meta.filename, () => {
  describe('the bundle that an operator shares', { skip: needs('root') }, () => {
    const values: string[] = [];
    let journald: ChildProcess | undefined;

    before(async () => {
      const lines = SECRET_LINES.flatMap((line) => Array.from({ length: TIMES }, () => withSecret(line)));
      values.push(...lines.map(({ value }) => value));
      for (const [path, name, written] of PLACES) {
        mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
        writeFileSync(path, [`was in ${name}`, ...lines.map(({ text }) => written(text)), ''].join('\n'));
      }
      journald = await startJournald();
      if (journald === undefined) return;
      const input = ['was in the journal', ...lines.map(({ text }) => text), ''].join('\n');
      execFileSync('systemd-cat', ['-t', 'machineadm'], { input });
      execFileSync('journalctl', ['--sync']);
    });

    after(() => journald?.kill());

    test(
      'contains none of the common secret lines',
      attack('Undeclared secrets', 'a common line with an undeclared secret, through machineadm bundle', async () => {
        const { status, stderr } = await agent(['bundle', '--output-file', BUNDLE]);
        assert.equal(status, 0, stderr);
        const list = execFileSync('tar', ['-tzf', BUNDLE], { encoding: 'utf8' });
        const packed = execFileSync('tar', ['-xzOf', BUNDLE], { encoding: 'utf8', maxBuffer: 2 ** 28 });
        const names = PLACES.map(([, name]) => name);
        // What was left out holds no secret either, and shows nothing.
        for (const name of names) {
          assert.ok(list.includes(name), `${name} is not in the bundle`);
          assert.ok(packed.includes(`was in ${name}`), name);
        }
        if (journald !== undefined) assert.ok(packed.includes('was in the journal'));
        const found = values.filter((value) => packed.includes(value.slice(0, Math.ceil(value.length / 2))));
        assert.deepEqual(found, []);
        return values.length * (PLACES.length + (journald === undefined ? 0 : 1));
      }),
    );
  });
});
