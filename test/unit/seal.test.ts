import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type SealedProcess, sealProcess } from '../../src/seal.ts';

const DISTRUSTED = { NODE_DEBUG: 'http', NODE_TLS_REJECT_UNAUTHORIZED: '0', OPENSSL_CONF: '/x', SSL_CERT_FILE: '/y' };
const TRUSTED = { PATH: '/bin', NODE_ROLE: 'worker', HOME: '/root', NOTIFY_SOCKET: '/run/notify' };

/** Seals a process of this kind, on a platform where nothing of the real process is touched. */
function sealed(kind: Partial<SealedProcess>): {
  readonly env: Record<string, string | undefined>;
  readonly replaced: readonly unknown[];
} {
  const replaced: unknown[] = [];
  const env: Record<string, string | undefined> = { ...DISTRUSTED, ...TRUSTED };
  sealProcess({
    platform: 'win32',
    execPath: '/usr/local/bin/machineadm',
    argv: ['/usr/local/bin/machineadm', '/usr/local/bin/machineadm', 'provision', '-d', 'x.yaml'],
    env,
    isRoot: true,
    isBinary: true,
    replace: (...words) => void replaced.push(...words),
    ...kind,
  });
  return { env, replaced };
}

describe('sealing the process', () => {
  test('starts a binary of root again, without what weakens it and with the same command line', () => {
    const program = '/usr/local/bin/machineadm';
    assert.deepEqual(sealed({}).replaced, [program, [program, 'provision', '-d', 'x.yaml'], TRUSTED]);
  });

  test('starts nothing again where nothing weakens it', () => {
    assert.deepEqual(sealed({ env: { ...TRUSTED, NODE_OPTIONS: '--ignored-anyway' } }).replaced, []);
  });

  for (const [who, kind] of Object.entries({
    'an unprivileged user': { isRoot: false },
    'the sources': { isBinary: false },
  })) {
    test(`deletes the variables of ${who}, and starts nothing again`, () => {
      const { env, replaced } = sealed(kind);
      assert.deepEqual([env, replaced], [TRUSTED, []]);
    });
  }

  test('deletes them where a process cannot replace its program', () => {
    const env: Record<string, string | undefined> = { ...DISTRUSTED, ...TRUSTED };
    sealProcess({ platform: 'win32', execPath: '', argv: [], env, isRoot: true, isBinary: true });
    assert.deepEqual(env, TRUSTED);
  });
});
