import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { chmod, mkdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { unitManPage } from '../generate/man-page.ts';

/** The inputs of a package. */
export interface PackageSource {
  readonly root: string;
  /** The binary of the architecture that the package is for. */
  readonly binary: string;
  /** The binary for this machine: it prints the completion scripts. */
  readonly nativeBinary: string;
  /** The licence texts and the bill of materials of the build. */
  readonly licenses: string;
  readonly billOfMaterials: string;
  readonly version: string;
  /** Seconds since the epoch: the time of every file, and of the package itself. */
  readonly epoch: number;
}

/** The directory of zsh completions from packages, which differs between Debian and Fedora. */
export type ZshDirectory = 'vendor-completions' | 'site-functions';

interface PackagedFile {
  readonly content: Buffer;
  readonly mode: number;
}

/**
 * Writes the files of a package below `directory`: the program in /usr/bin (a package must not write to /usr/local), its
 * units and presets, the group for the status, completion scripts, manual pages and documentation.
 */
export async function writeContents(source: PackageSource, directory: string, zsh: ZshDirectory): Promise<void> {
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
  for (const [unit, text] of await packagedUnits(source.root)) {
    put(`usr/lib/systemd/system/${unit}`, text);
    put(`usr/share/man/man8/${unit}.8.gz`, pack(unitManPage(unit, text, source.version)));
  }
  const preset = 'packaging/preset/80-machineadm.preset';
  put(`usr/lib/systemd/system-preset/${basename(preset)}`, await readFile(join(source.root, preset)));
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

/** The units of a package, by name. They run the program in /usr/bin and link to their manual page. */
async function packagedUnits(root: string): Promise<ReadonlyMap<string, string>> {
  const units = new Map<string, string>();
  for (const path of globSync('packaging/systemd/*', { cwd: root }).sort()) {
    const text = (await readFile(join(root, path), 'utf8'))
      .replaceAll('/usr/local/bin/', '/usr/bin/')
      .replace('Documentation=', `Documentation=man:${basename(path)}(8) `);
    units.set(basename(path), text);
  }
  return units;
}

/**
 * A template of a maintainer script in which each line `@NAME@` is replaced by packaging/maintainer/NAME.sh, which deb and
 * rpm share, and `@UNITS@` by the units that an image may have enabled.
 *
 * @param quoted escapes the shell text, for a template with special characters
 */
export async function maintainerScript(
  root: string,
  template: string,
  quoted: (text: string) => string = (text) => text,
): Promise<string> {
  const parts = new Map<string, string>();
  for (const path of globSync('packaging/maintainer/*.sh', { cwd: root })) {
    parts.set(basename(path, '.sh'), await readFile(join(root, path), 'utf8'));
  }
  const units = [...(await packagedUnits(root))].flatMap(([unit, text]) => (text.includes('[Install]') ? [unit] : []));
  const text = (await readFile(join(root, template), 'utf8')).replace(/^ *@([a-z-]+)@\n/gm, (_, name: string) => {
    const part = parts.get(name);
    if (part === undefined) throw new Error(`${template}: there is no packaging/maintainer/${name}.sh`);
    return quoted(part);
  });
  return text.replace('@UNITS@', units.join(' '));
}

/** Compresses with gzip, without a name and a time (RFC 1952), so that the build is reproducible. */
export function pack(content: Buffer | string): Buffer {
  return gzipSync(content, { level: 9 });
}

/** Sets one time, and modes that do not depend on the umask: 0755 for directories (0700 for /etc/machineadm), 0755 or 0644 for files. */
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
