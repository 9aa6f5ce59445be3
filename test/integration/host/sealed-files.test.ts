import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { HOOKS_DIRECTORY, SEALING_KEYS_DIRECTORY, STATE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { beforeBootstrapHooks, earlyHooks } from '../../../src/features/hooks/index.ts';
import { openHost } from '../../../src/host/index.ts';
import { forgetUnusedKeys, isSealed, readSealedText, writeSealed } from '../../../src/host/secrets/sealed-files.ts';
import { keepContents, stateOf } from '../../../src/prior-state/state.ts';
import { hostModel } from '../../support/host-model.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { runStep } from '../../support/run-step.ts';

const CANARY = 'hunter-two-of-the-canary';
const HOST_KEY = '/var/lib/systemd/credential.secret';
const OUT = '/tmp/out';

/** Whether any file below a directory has the text. */
function holds(directory: string, text: string): boolean {
  return spawnSync('grep', ['-rqF', text, directory]).status === 0;
}

inThrowAwayMachine(import.meta.filename, () => {
  // The host key is made for this machine: the one below the overlay stays as it is.
  rmSync(HOST_KEY, { force: true });
  const host = openHost({ runId: 'test' });
  const PATH = `${HOOKS_DIRECTORY}/every-boot-a.json`;

  test('the real systemd-creds: encrypted, read again by another process, and plain for nobody', async () => {
    await writeSealed(host, PATH, CANARY);
    assert.ok(await isSealed(host, PATH), 'systemd-creds refused');
    assert.ok(!holds(STATE_DIRECTORY, CANARY));
    const [key = ''] = readdirSync(SEALING_KEYS_DIRECTORY);
    for (const path of [PATH, `${SEALING_KEYS_DIRECTORY}/${key}`]) assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(statSync(SEALING_KEYS_DIRECTORY).mode & 0o777, 0o700);
    const source = `
        import { openHost } from '${import.meta.resolve('../../../src/host/index.ts')}';
        import { readSealedText } from '${import.meta.resolve('../../../src/host/secrets/sealed-files.ts')}';
        process.stdout.write(await readSealedText(openHost({ runId: 'other' }), '${PATH}'));`;
    const read = () =>
      spawnSync(process.execPath, ['--input-type=module-typescript', '-e', source], { encoding: 'utf8' });
    assert.equal(read().stdout, CANARY);
    // Another machine, as for the disk: its host key is another.
    rmSync(HOST_KEY);
    assert.equal(spawnSync('systemd-creds', ['setup']).status, 0);
    const other = read();
    assert.equal(other.stdout, '');
    assert.match(
      other.stderr,
      /every-boot-a\.json is encrypted for this machine, and cannot be decrypted: systemd-creds/,
    );
  });

  test('what a hook exported is nowhere in the clear, and the hook continues with it', async () => {
    rmSync(STATE_DIRECTORY, { recursive: true, force: true });
    const group = { shell: 'sh', timeoutMs: 20_000, frequency: 'Once' } as const;
    const commands = [`export TOKEN=${CANARY}`, `test -e /tmp/ready && printf %s "$TOKEN" >${OUT}`];
    const early = { ...group, onError: 'Fail', commands } as const;
    const model = hostModel({ hooks: { early, beforeBootstrap: undefined, afterBootstrap: undefined } });
    const first = await runStep(earlyHooks, host, model).then(
      () => undefined,
      (error) => error,
    );
    assert.equal(first?.reason, 'HookFailed');
    assert.ok(await isSealed(host, `${HOOKS_DIRECTORY}/hooks-early`));
    assert.ok(!holds(STATE_DIRECTORY, CANARY));
    writeFileSync('/tmp/ready', '');
    assert.match((await readSealedText(host, `${HOOKS_DIRECTORY}/hooks-early`)) ?? '', new RegExp(CANARY));

    const script = { ...group, onError: 'Script', commands: [`export TOKEN=${CANARY}`] } as const;
    const hooks = { early: undefined, beforeBootstrap: script, afterBootstrap: undefined };
    await runStep(beforeBootstrapHooks, host, hostModel({ hooks }));
    for (const name of ['hooks-before-bootstrap', 'hooks-before-bootstrap.environment'])
      assert.ok(await isSealed(host, `${HOOKS_DIRECTORY}/${name}`), name);
    assert.ok(!holds(STATE_DIRECTORY, CANARY));
  });

  test('a file that only its owner may read is kept encrypted', async () => {
    rmSync(STATE_DIRECTORY, { recursive: true, force: true });
    mkdirSync('/etc/app');
    writeFileSync('/etc/app/password', CANARY);
    chmodSync('/etc/app/password', 0o600);
    const print = (sha256: string): string => sha256.slice(0, 32);
    const of = 'path:/etc/app/password';
    await keepContents(host, of, await stateOf(host, of, print), print);
    assert.ok(!holds(STATE_DIRECTORY, CANARY));
  });

  test('kill -9 at any moment leaves files that can be read, and the next writes', async () => {
    const source = `
        import { openHost } from '${import.meta.resolve('../../../src/host/index.ts')}';
        import { writeSealed } from '${import.meta.resolve('../../../src/host/secrets/sealed-files.ts')}';
        const host = openHost({ runId: 'killed' });
        process.stdout.write('begin');
        for (let i = 0; ; i += 1) await writeSealed(host, '${PATH}', '${CANARY} ' + i);`;
    for (const afterMs of [0, 8, 20, 60]) {
      rmSync(STATE_DIRECTORY, { recursive: true, force: true });
      const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', source], { stdio: 'pipe' });
      await once(child.stdout, 'data');
      await sleep(afterMs);
      child.kill('SIGKILL');
      await once(child, 'exit');
      if (existsSync(PATH)) assert.match((await readSealedText(host, PATH)) ?? '', new RegExp(`^${CANARY} \\d+$`));
      await writeSealed(host, PATH, 'next');
      assert.equal(await readSealedText(host, PATH), 'next');
      assert.ok(!readFileSync(PATH, 'latin1').includes('next'));
      rmSync(PATH);
      await forgetUnusedKeys(host);
      assert.deepEqual(readdirSync(SEALING_KEYS_DIRECTORY), []);
    }
  });
}, ['systemd-creds']);
