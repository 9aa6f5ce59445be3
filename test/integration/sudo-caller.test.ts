import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { MAIN } from '../support/agent.ts';
import { attack } from '../support/attacks.ts';
import { inThrowAwayMachine } from '../support/namespace.ts';

const ALICE = 65534;
const DOCUMENT = '/srv/alice/doc.yaml';

/** Validates the document of the user with these commands before it, and says whether root would run it. */
function isTrustedBelow(wrapper: readonly string[], env: Readonly<Record<string, string>> = {}): boolean {
  const [program = '', ...args] = [...wrapper, process.execPath, MAIN, 'validate', DOCUMENT];
  const { stdout, stderr, status } = spawnSync(program, args, {
    encoding: 'utf8',
    cwd: '/',
    env: { PATH: process.env.PATH, HOME: '/root', LANG: 'C.UTF-8', ...env },
  });
  assert.equal(status, 0, stdout + stderr);
  return !/other users could change the document/.test(stdout + stderr);
}

const as = (user: number, ...more: readonly string[]): readonly string[] => [
  'setpriv',
  `--reuid=${user}`,
  '--clear-groups',
  ...more,
];

/** The program at a path, with the rights of its owner, starts what follows as root and waits for it, as sudo does. */
const below = (program: string): readonly string[] => [program, '-p', '-c', 'setpriv --reuid=0 "$@"; exit $?', 'x'];

inThrowAwayMachine(import.meta.filename, () => {
  test('the caller of sudo is the user of its parent, and nobody else', async (t) => {
    mkdirSync('/srv/alice', { recursive: true });
    writeFileSync(DOCUMENT, 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: n1}\n');
    chmodSync(DOCUMENT, 0o600);
    chownSync(DOCUMENT, ALICE, ALICE);
    // A setuid bash is what sudo is to us: a process of root with a parent of the caller.
    mkdirSync('/opt/theirs', { recursive: true });
    for (const path of ['/usr/bin/sudo', '/opt/theirs/sudo', '/usr/bin/notsudo']) copyFileSync('/bin/bash', path);
    chmodSync('/usr/bin/sudo', 0o4755);
    chmodSync('/usr/bin/notsudo', 0o4755);
    chownSync('/opt/theirs/sudo', ALICE, ALICE);
    chmodSync('/opt/theirs/sudo', 0o755);
    assert.ok(existsSync('/proc/self/status'));
    execFileSync('/usr/bin/sudo', ['-c', 'true']);
    const shell = ['sh', '-c', '"$@"; exit $?', 'x'];

    await t.test('with sudo', () => {
      assert.ok(isTrustedBelow(as(ALICE, ...shell, ...below('/usr/bin/sudo'))));
      assert.ok(isTrustedBelow(as(ALICE, ...shell, ...below('/usr/bin/sudo'), ...below('/usr/bin/sudo'))));
      assert.ok(isTrustedBelow(as(ALICE, ...shell, ...below('/usr/bin/sudo'), ...shell)));
    });

    await t.test(
      'without',
      attack('Provenance', 'SUDO_UID of another user, or a program that only looks like sudo', () => {
        const env = { SUDO_UID: String(ALICE) };
        assert.ok(!isTrustedBelow([], env));
        assert.ok(!isTrustedBelow(shell, env));
        assert.ok(!isTrustedBelow(as(ALICE, ...shell, ...below('/usr/bin/notsudo')), env));
        assert.ok(!isTrustedBelow([...shell, ...below('/opt/theirs/sudo')], env));
        assert.ok(!isTrustedBelow([...shell, ...below('/usr/bin/sudo')], env));
        assert.ok(!isTrustedBelow(as(1, ...shell, ...below('/usr/bin/sudo')), env));
        return 6;
      }),
    );
  });
});
