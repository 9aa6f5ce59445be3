import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PackageSource } from './contents.ts';
import { zip } from './zip.ts';

/** Writes `machineadm-VERSION-windows-amd64.zip` into `output`: the program, its licences, and the script that installs it. */
export async function buildWindowsZip(source: PackageSource, output: string): Promise<string> {
  const checked = {
    'machineadm.exe': await readFile(source.binary),
    'LICENSES.txt': await readFile(source.licenses),
    'machineadm.cdx.json': await readFile(source.billOfMaterials),
  };
  const sums = Object.entries(checked).map(
    ([name, content]) => `${createHash('sha256').update(content).digest('hex')}  ${name}\n`,
  );
  const file = join(output, `machineadm-${source.version}-windows-amd64.zip`);
  const script = await readFile(join(source.root, 'packaging/windows/install.ps1'), 'utf8');
  await writeFile(
    file,
    zip({
      ...checked,
      // Windows PowerShell 5.1 reads a script without a byte order mark in the system code page. This one is ASCII.
      'install.ps1': Buffer.from(script.replaceAll('\n', '\r\n')),
      SHA256SUMS: Buffer.from(sums.join('')),
    }),
  );
  return file;
}
