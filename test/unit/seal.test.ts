import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type SealedProcess, sealProcess } from '../../src/seal.ts';

/** Of nodejs/node doc/api/cli.md and openssl-env(7); without NODE_V8_COVERAGE, with which the coverage of this test would end. */
const DISTRUSTED = Object.fromEntries(
  `NODE_CHANNEL_FD NODE_CHANNEL_SERIALIZATION_MODE NODE_COMPILE_CACHE NODE_COMPILE_CACHE_PORTABLE NODE_DEBUG
  NODE_DEBUG_NATIVE NODE_EXTRA_CA_CERTS NODE_ICU_DATA NODE_PATH NODE_PENDING_DEPRECATION NODE_PRESERVE_SYMLINKS
  NODE_PRESERVE_SYMLINKS_MAIN NODE_REDIRECT_WARNINGS NODE_TLS_REJECT_UNAUTHORIZED NODE_UNIQUE_ID NODE_USE_ENV_PROXY
  NODE_USE_SYSTEM_CA OPENSSL_CONF OPENSSL_ENGINES OPENSSL_MODULES SSL_CERT_DIR SSL_CERT_FILE
  SSLKEYLOGFILE`
    .split(/\s+/)
    .map((name) => [name, '0']),
);
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
