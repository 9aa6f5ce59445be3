import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Signs packages and repositories with a key in the GnuPG keyring of the publisher. */
export interface PackageSigner {
  readonly fingerprint: string;
  /** The armored public key, for apt and rpm. */
  readonly publicKey: string;
  /** The text with its signature around it (RFC 9580, 7). */
  clearSign(text: string): string;
  /** A detached signature, armored. */
  detachedSignature(content: string | Buffer): string;
  /** Signs the header of an rpm, which contains the digest of its payload, and verifies the signature with rpm. */
  signRpm(file: string): void;
}

/**
 * A signer with the key that has this name in gpg, such as a fingerprint or an e-mail address. gpg-agent handles passphrases,
 * smart cards and a KMS.
 *
 * @param home the keyring; by default GNUPGHOME or that of the user
 */
export function packageSigner(name: string, home = process.env.GNUPGHOME): PackageSigner {
  const env = { ...process.env, LC_ALL: 'C', ...(home === undefined ? {} : { GNUPGHOME: home }) };
  const gpg = (args: readonly string[], input?: string | Buffer): string =>
    run('gpg', ['--batch', '--quiet', ...args], env, input);
  const listed = gpg(['--with-colons', '--list-secret-keys', name]);
  const fingerprints = listed.split('\n').flatMap((line, index, lines) => {
    // The `fpr` line after a `sec` line belongs to the primary key; the others belong to subkeys.
    return line.startsWith('fpr:') && lines[index - 1]?.startsWith('sec:') ? [line.split(':')[9] ?? ''] : [];
  });
  const [fingerprint, ...others] = fingerprints;
  if (fingerprint === undefined || others.length > 0) {
    throw new Error(`gpg knows ${fingerprints.length} secret keys by the name "${name}": give a fingerprint`);
  }
  const publicKey = gpg(['--armor', '--export', fingerprint]);
  const user = ['--local-user', fingerprint, '--digest-algo', 'SHA256', '--armor'];
  return {
    fingerprint,
    publicKey,
    clearSign: (text) => gpg([...user, '--clear-sign'], text),
    detachedSignature: (content) => gpg([...user, '--detach-sign'], content),
    signRpm(file) {
      // Debian's rpm looks for /usr/bin/gpg2.
      const defined = [
        '--define',
        `__gpg ${run('sh', ['-c', 'command -v gpg'], env).trim()}`,
        '--define',
        `_gpg_name ${fingerprint}`,
      ];
      run('rpmsign', [...defined, '--define', '_gpg_sign_cmd_extra_args --batch', '--addsign', file], env);
      const work = mkdtempSync(join(tmpdir(), 'machineadm-rpm-keys-'));
      try {
        writeFileSync(join(work, 'key.asc'), publicKey);
        run('rpmkeys', ['--dbpath', work, '--import', join(work, 'key.asc')], env);
        run('rpmkeys', ['--dbpath', work, '--define', '_pkgverify_level all', '--checksig', file], env);
      } finally {
        rmSync(work, { recursive: true, force: true });
      }
    },
  };
}

/** Runs a program and returns its stdout. */
export function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv, input?: string | Buffer): string {
  try {
    return execFileSync(program, args, {
      env,
      encoding: 'utf8',
      stdio: 'pipe',
      ...(input === undefined ? {} : { input }),
    });
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if ('code' in error && error.code === 'ENOENT') throw new Error(`${program} is not installed`);
    const said = 'stderr' in error ? String(error.stderr).trim() : '';
    throw new Error(`${program} failed: ${said.split('\n').slice(-3).join('; ') || error.message}`);
  }
}
