import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandLine } from './command-line.ts';
import type { Told } from './told.ts';

export const HEADER =
  'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: n1, namespace: clusters, cluster: prod}\n';
export const DOCUMENT = `${HEADER}secrets: {password: {value: not-for-everybody}}\nhost: {files: [{path: /etc/p, contentFrom: {secret: password}}]}\n`;
export const DIGEST = 'ab'.repeat(32);
const ARTEFACT = { os: 'linux', architecture: 'amd64', size: 1, program: { size: 2, sha256: 'cd'.repeat(32) } };
export const MANIFEST = {
  apiVersion: 'machineadm.dev/release/v1',
  kind: 'Release',
  version: '1.4.0',
  createdAt: '2026-11-20T12:00:00Z',
  commit: 'unknown',
  keyId: `${'A'.repeat(43)}=`,
  minimumVersion: '1.0.0',
  revokedKeys: [],
  artefacts: [
    { ...ARTEFACT, os: 'windows', file: 'a.exe.gz', compression: 'gzip', sha256: '01'.repeat(32) },
    { ...ARTEFACT, file: 'a.xz', compression: 'xz', sha256: 'ef'.repeat(32) },
    { ...ARTEFACT, file: 'a.gz', compression: 'gzip', sha256: DIGEST },
  ],
};
export const DRIVE = ['--fetch', 'https://mirror.example/machineadm', '--fetch', 'file:///D:/machineadm'];
export const MIRROR = ['--fetch', 'https://mirror.example/machineadm', '--fetch', 'file:///mnt/machineadm'];

/** A directory in which documents are laid, and made into user data. */
export class WrapBench implements Disposable {
  readonly directory = mkdtempSync(join(tmpdir(), 'machineadm-wrap-'));

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true });
  }

  /** Writes a file, and gives its path. */
  lay(name: string, text: string): string {
    const path = join(this.directory, name);
    writeFileSync(path, text);
    return path;
  }

  wrap(...args: readonly string[]): Promise<Told> {
    return commandLine('wrap', ...args);
  }

  /** The user data of the document, for the platform that the format is of. */
  async wrapped(...args: readonly string[]): Promise<string> {
    const onWindows = args.some((word) => /^(?:cloudbase-init|unattend)$/.test(word));
    const document = onWindows ? DOCUMENT.replace('host: {', 'host: {platform: Windows, ') : DOCUMENT;
    const { status, stdout, stderr } = await this.wrap('-d', this.lay('document.yaml', document), ...args);
    assert.equal(status, 0, stderr);
    return stdout;
  }
}
