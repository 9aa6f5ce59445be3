import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import {
  HOOKS_DIRECTORY,
  PRIOR_STATE_DIRECTORY,
  SEALING_KEYS_DIRECTORY,
} from '@machineadm/document/ownership/paths.ts';
import { checkStateAtRest } from '../../../../src/diagnosis/checks/state-at-rest.ts';
import {
  forgetUnusedKeys,
  isSealed,
  readSealed,
  readSealedText,
  writeSealed,
} from '../../../../src/host/secrets/sealed-files.ts';
import { bakingHost } from '../../../../src/pipeline/image.ts';
import { copyPath, sha256Of } from '../../../../src/prior-state/copies.ts';
import { keepContents, markOf, stateOf } from '../../../../src/prior-state/state.ts';
import { restoreUser } from '../../../../src/undo/restore-account.ts';
import { restorePath } from '../../../../src/undo/restore-path.ts';
import { type MemoryHost, memoryHost } from '../../../support/memory-host.ts';

const PATH = `${HOOKS_DIRECTORY}/hooks-early`;
const CANARY = 'correct horse battery staple';
const print = (sha256: string): string => sha256.slice(0, 32);

/** systemd-creds of the machine with this host key. */
function sealingHost(
  machine: { hostKey: string },
  files: Readonly<Record<string, string | Uint8Array>> = {},
): MemoryHost {
  return memoryHost({
    files,
    programs: {
      'systemd-creds': ({ args, input }, host) => {
        const key = `${machine.hostKey} `;
        if (args[0] === 'encrypt') return { stdout: `${Buffer.from(key + String(input)).toString('base64')}\n` };
        const text = Buffer.from(host.text(String(args.at(-1))) ?? '', 'base64').toString();
        if (!text.startsWith(key)) return { status: 1, stderr: 'Failed to decrypt: Bad message' };
        return { stdout: text.slice(key.length) };
      },
    },
  });
}

const allBytes = (host: MemoryHost): string => host.snapshot().join('\n');

describe('a file of the state that may hold secrets', () => {
  test('is encrypted, for root alone, under a key that is durable before it', async () => {
    const host = sealingHost({ hostKey: 'a' });
    await writeSealed(host, PATH, CANARY);
    assert.ok(await isSealed(host, PATH));
    assert.ok(!allBytes(host).includes(CANARY));
    assert.equal((await host.stat(PATH))?.mode, 0o600);
    assert.equal(await readSealedText(host, PATH), CANARY);
    const at = (text: string): number => host.log.findIndex((line) => line.includes(text));
    assert.ok(at(`sync ${SEALING_KEYS_DIRECTORY}/`) >= 0 && at(`sync ${SEALING_KEYS_DIRECTORY}/`) < at(PATH));
    await writeSealed(host, PATH, 'again');
    assert.equal((await host.list(SEALING_KEYS_DIRECTORY))?.length, 1);
  });

  test('may hold any bytes, and none', async () => {
    const host = sealingHost({ hostKey: 'a' });
    for (const content of [new Uint8Array([0, 255, 10, 128]), new Uint8Array()]) {
      await writeSealed(host, PATH, content);
      assert.deepEqual(Buffer.from((await readSealed(host, PATH)) ?? []), Buffer.from(content));
    }
    assert.equal(await readSealed(host, `${PATH}-absent`), undefined);
  });

  test('of an earlier version is plain, and is read', async () => {
    assert.equal(await readSealedText(sealingHost({ hostKey: 'a' }, { [PATH]: CANARY }), PATH), CANARY);
  });

  test('cannot change places with another, nor be changed', async () => {
    const host = sealingHost({ hostKey: 'a' });
    await writeSealed(host, PATH, CANARY);
    const sealed = (await host.readFile(PATH)) ?? new Uint8Array();
    host.put(`${PATH}-other`, sealed);
    const changed = Uint8Array.from(sealed);
    changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
    host.put(`${PATH}-changed`, changed);
    host.put(`${PATH}-short`, sealed.subarray(0, 60));
    for (const path of [`${PATH}-other`, `${PATH}-changed`, `${PATH}-short`]) {
      await assert.rejects(readSealed(host, path), (error) => {
        assert.ok(error instanceof MachineadmError && error.reason === 'HostStepFailed');
        assert.match(error.message, new RegExp(`^${path} .* cannot be decrypted: it is damaged, or was moved here$`));
        return true;
      });
    }
  });

  test('is plain, for root alone, where systemd-creds is missing or refuses, and doctor says so', async () => {
    const without = memoryHost({});
    const refusing = memoryHost({ programs: { 'systemd-creds': () => ({ status: 1, stderr: 'No key available' }) } });
    for (const host of [without, refusing]) {
      await writeSealed(host, PATH, CANARY);
      assert.equal(host.text(PATH), CANARY);
      assert.equal((await host.stat(PATH))?.mode, 0o600);
      assert.deepEqual((await host.list(SEALING_KEYS_DIRECTORY)) ?? [], []);
      const [finding] = await checkStateAtRest(host);
      assert.match(finding?.text ?? '', /^1 file of machineadm .*, not encrypted/);
    }
    const [finding] = await checkStateAtRest(without);
    assert.match(finding?.text ?? '', /: systemd-creds \(systemd 250 or later\) is not installed$/);
  });

  test('is plain where systemd-creds cannot decrypt what it encrypted with a TPM', async () => {
    const programs = { 'systemd-creds': () => ({ stdout: 'bm90IGEga2V5' }) };
    const host = memoryHost({ programs, files: { '/sys/class/tpm/tpm0/uevent': '' } });
    await writeSealed(host, PATH, CANARY);
    assert.equal(host.text(PATH), CANARY);
    assert.deepEqual(await host.list(SEALING_KEYS_DIRECTORY), []);
  });

  test('is plain while an image is prepared: the key would be that of every machine', async () => {
    const host = sealingHost({ hostKey: 'a' });
    await writeSealed(bakingHost(host), PATH, CANARY);
    assert.equal(host.text(PATH), CANARY);
    assert.ok(!host.log.some((line) => line.includes('systemd-creds')));
  });

  test('of a machine whose key is gone says why; new files get a new key, and nothing is lost silently', async () => {
    const machine = { hostKey: 'a' };
    const first = sealingHost(machine);
    await writeSealed(first, PATH, CANARY);
    const [id = ''] = (await first.list(SEALING_KEYS_DIRECTORY)) ?? [];
    const key = `${SEALING_KEYS_DIRECTORY}/${id}`;
    // Another text than the first, which this process has decrypted.
    const host = sealingHost(
      { hostKey: 'b' },
      { [PATH]: (await first.readFile(PATH)) ?? '', [key]: `${first.text(key)}\n` },
    );
    await assert.rejects(readSealed(host, PATH), (error) => {
      assert.ok(error instanceof MachineadmError && error.reason === 'HostStepFailed');
      assert.match(error.message, /cannot be decrypted: systemd-creds ended with status 1: Failed to decrypt/);
      assert.match(error.remedy, /credential\.secret and the TPM/);
      return true;
    });
    await writeSealed(host, `${HOOKS_DIRECTORY}/other`, 'new');
    assert.equal(await readSealedText(host, `${HOOKS_DIRECTORY}/other`), 'new');
    assert.equal((await host.list(SEALING_KEYS_DIRECTORY))?.length, 2);
    const severities = (await checkStateAtRest(host)).map(({ severity }) => severity);
    assert.deepEqual(severities, ['warning', 'passed']);
    await forgetUnusedKeys(host);
    assert.equal((await host.list(SEALING_KEYS_DIRECTORY))?.length, 2);
    await host.removeFile(PATH);
    await forgetUnusedKeys(host);
    assert.deepEqual((await host.list(SEALING_KEYS_DIRECTORY))?.includes(id), false);
    await host.removeFile(`${HOOKS_DIRECTORY}/other`);
    await forgetUnusedKeys(host);
    assert.deepEqual(await host.list(SEALING_KEYS_DIRECTORY), []);
  });

  test('names a key that is missing', async () => {
    const first = sealingHost({ hostKey: 'a' });
    await writeSealed(first, PATH, CANARY);
    const host = sealingHost({ hostKey: 'a' }, { [PATH]: (await first.readFile(PATH)) ?? '' });
    await assert.rejects(readSealed(host, PATH), /its key \/var\/lib\/machineadm\/keys\/[0-9a-f]{32} is missing/);
  });
});

describe('what was there before the first run', () => {
  const FILE = '/etc/app/password';
  const before = async (host: MemoryHost, path = FILE) =>
    await keepContents(host, `path:${path}`, await stateOf(host, `path:${path}`, print), print);

  test('is an encrypted copy, and no second name of the file, where only its owner may read it', async () => {
    const host = sealingHost({ hostKey: 'a' });
    host.put(FILE, { content: CANARY, mode: 0o600, uid: 7 });
    const was = await before(host);
    await host.writeFile({ path: FILE, content: 'ours', mode: 0o644 });
    assert.ok(!allBytes(host).includes(CANARY));
    assert.deepEqual(
      ((await host.list(PRIOR_STATE_DIRECTORY)) ?? []).filter((name) => name.startsWith('file-')),
      [],
    );
    const marks = [markOf(await stateOf(host, `path:${FILE}`, print))];
    const actions = await restorePath(host, { path: FILE, was, marks, original: false }, print, new Set());
    for (const { perform } of actions) await perform?.(host, new AbortController().signal);
    assert.equal(host.text(FILE), CANARY);
    const { mode, uid } = (await host.stat(FILE)) ?? {};
    assert.deepEqual([mode, uid], [0o600, 7]);
  });

  test('keeps the file itself where others may read it anyway, or where nothing is encrypted', async () => {
    const readable = sealingHost({ hostKey: 'a' });
    readable.put(FILE, { content: CANARY, mode: 0o644 });
    const plain = memoryHost({ files: { [FILE]: { content: CANARY, mode: 0o600 } } });
    for (const host of [readable, plain]) {
      await before(host);
      const names = (await host.list(PRIOR_STATE_DIRECTORY)) ?? [];
      assert.equal(names.filter((name) => name.startsWith('file-')).length, 1);
    }
  });

  test('is said to be left, by its path, where the copy cannot be decrypted', async () => {
    const host = sealingHost({ hostKey: 'a' });
    host.put(FILE, { content: CANARY, mode: 0o600 });
    const was = await before(host);
    await host.writeFile({ path: FILE, content: 'ours', mode: 0o644 });
    for (const id of (await host.list(SEALING_KEYS_DIRECTORY)) ?? [])
      await host.removeFile(`${SEALING_KEYS_DIRECTORY}/${id}`);
    const marks = [markOf(await stateOf(host, `path:${FILE}`, print))];
    const actions = await restorePath(host, { path: FILE, was, marks, original: false }, print, new Set());
    assert.deepEqual(
      actions.map(({ perform, keeps }) => [perform, keeps]),
      [[undefined, print(sha256Of(CANARY))]],
    );
    assert.match(
      actions[0]?.summary ?? '',
      /^leave \/etc\/app\/password: .* cannot be decrypted: its key .* is missing$/,
    );
    assert.equal(host.text(FILE), 'ours');
  });

  test('says the same of the password of a user, and restores the rest', async () => {
    const hash = '$6$before';
    const passwd = 'ops:x:1001:1001:Ops:/home/ops:/bin/sh\n';
    const now = {
      '/etc/passwd': passwd,
      '/etc/group': 'ops:x:1001:\n',
      '/etc/shadow': 'ops:$6$now:19000:0:99999:7:::\n',
    };
    const sealed = sealingHost({ hostKey: 'a' });
    await writeSealed(sealed, copyPath(print(sha256Of(hash))), hash);
    const copy = (await sealed.readFile(copyPath(print(sha256Of(hash))))) ?? '';
    const host = sealingHost({ hostKey: 'a' }, { ...now, [copyPath(print(sha256Of(hash)))]: copy });
    const user = await stateOf(host, 'user:ops', print);
    assert.ok(user?.is === 'user');
    const was = { ...user, password: print(sha256Of(hash)) };
    const actions = await restoreUser(host, 'ops', { ...was, shell: '/bin/bash' }, [markOf(user)], print);
    assert.match(actions[0]?.summary ?? '', /^leave the password of the user ops: .* cannot be decrypted/);
    assert.deepEqual(actions[1]?.summary, 'restore the user ops: shell');
    assert.deepEqual((await restoreUser(host, 'ops', was, [markOf(user)], print)).length, 1);
  });
});
