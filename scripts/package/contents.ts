import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { chmod, mkdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

/** What a package is made of. */
export interface PackageSource {
  readonly root: string;
  /** The binary of the architecture that the package is for. */
  readonly binary: string;
  /** The binary that this machine can run: it prints its own completion. */
  readonly nativeBinary: string;
  /** Texts of licences and the bill of materials, as the build wrote them. */
  readonly licenses: string;
  readonly billOfMaterials: string;
  readonly version: string;
  /** Seconds since the epoch: the time of every file, and of the package itself. */
  readonly epoch: number;
}

/** Where zsh looks for the completion of packages: Debian and Fedora differ. */
export type ZshDirectory = 'vendor-completions' | 'site-functions';

interface PackagedFile {
  readonly content: Buffer;
  readonly mode: number;
}

/**
 * Lays the tree that a package installs below `directory`: the program in /usr/bin, as no package may touch /usr/local,
 * the units that start it there, the group of the status, completion, manual page and documentation.
 */
export async function layContents(source: PackageSource, directory: string, zsh: ZshDirectory): Promise<void> {
  for (const [path, { content, mode }] of await contents(source, zsh)) {
    const target = join(directory, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, content);
    await chmod(target, mode);
  }
  await mkdir(join(directory, 'etc/machineadm'), { recursive: true });
  await setModesAndTimes(directory, source.epoch);
}

async function contents(source: PackageSource, zsh: ZshDirectory): Promise<ReadonlyMap<string, PackagedFile>> {
  const files = new Map<string, PackagedFile>();
  const put = (path: string, content: Buffer | string, mode = 0o644): void => {
    files.set(path, { content: Buffer.from(content), mode });
  };
  put('usr/bin/machineadm', await readFile(source.binary), 0o755);
  for (const unit of globSync('packaging/systemd/*', { cwd: source.root }).sort()) {
    const text = await readFile(join(source.root, unit), 'utf8');
    put(`usr/lib/systemd/system/${basename(unit)}`, text.replaceAll('/usr/local/bin/', '/usr/bin/'));
  }
  put('usr/lib/sysusers.d/machineadm.conf', await readFile(join(source.root, 'packaging/sysusers/machineadm.conf')));
  const completion = (shell: string): string =>
    execFileSync(source.nativeBinary, ['completion', shell], { encoding: 'utf8' });
  put('usr/share/bash-completion/completions/machineadm', completion('bash'));
  put(`usr/share/zsh/${zsh}/_machineadm`, completion('zsh'));
  put('usr/share/fish/vendor_completions.d/machineadm.fish', completion('fish'));
  put('usr/share/man/man1/machineadm.1.gz', pack(await readFile(join(source.root, 'packaging/man/machineadm.1'))));
  const documentation = 'usr/share/doc/machineadm';
  for (const page of globSync('contract/*.{md,json}', { cwd: source.root }).sort()) {
    put(`${documentation}/contract/${basename(page)}.gz`, pack(await readFile(join(source.root, page))));
  }
  for (const schema of globSync('contract/schema/*.json', { cwd: source.root }).sort()) {
    put(`${documentation}/contract/schema/${basename(schema)}.gz`, pack(await readFile(join(source.root, schema))));
  }
  put(`${documentation}/LICENSES.txt.gz`, pack(await readFile(source.licenses)));
  put(`${documentation}/machineadm.cdx.json.gz`, pack(await readFile(source.billOfMaterials)));
  return files;
}

/** gzip without a name and a time (RFC 1952): the same bytes at every build. */
export function pack(content: Buffer | string): Buffer {
  return gzipSync(content, { level: 9 });
}

/** Modes that no umask changes: directories 0755 but for the one of the document, files 0755 or 0644. One time for all. */
export async function setModesAndTimes(directory: string, epoch: number): Promise<void> {
  const paths = globSync('**', { cwd: directory, withFileTypes: true });
  for (const entry of paths.reverse()) {
    const path = join(entry.parentPath, entry.name);
    const isExecutable = ((await stat(path)).mode & 0o100) !== 0;
    if (entry.isDirectory()) await chmod(path, path.endsWith('/etc/machineadm') ? 0o700 : 0o755);
    else await chmod(path, isExecutable ? 0o755 : 0o644);
    await utimes(path, epoch, epoch);
  }
  await chmod(directory, 0o755);
  await utimes(directory, epoch, epoch);
}
