import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const HERE = import.meta.dirname;

/** Makes a directory with the binary and the files of the quick start, which `overlay.sh` mounts. */
export function stage(binary: string): { readonly directory: string; readonly remove: () => void } {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-quickstart-'));
  copyFileSync(binary, join(directory, 'machineadm'));
  for (const file of ['light.sh', 'light.yaml', 'failing.yaml']) {
    cpSync(join(HERE, file), join(directory, file));
    // Independent of the umask of the clone: a run refuses a document that others can write.
    chmodSync(join(directory, file), 0o700);
  }
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

/**
 * Runs the host steps of a bootstrap in a temporary copy of this machine: it takes seconds, downloads nothing and does not
 * change the machine. Without root, it can make no copy and only validates and plans. Returns the exit status.
 */
export function lightQuickstart(binary: string): number {
  const staged = stage(binary);
  try {
    return process.getuid?.() === 0 ? inCopy(staged.directory) : planOnly(staged.directory);
  } finally {
    staged.remove();
  }
}

function inCopy(directory: string): number {
  console.log(
    'Light: the host half of a bootstrap, for real, in a throw-away copy of this machine (overlays in memory, in',
  );
  console.log('its own namespaces). There is no kubelet, no kubeadm and no cluster in it; for a real node run');
  console.log('`npm run quickstart` without --light, as root on Debian 12.');
  const status = runShown([join(HERE, 'overlay.sh'), directory, 'sh', '/quickstart/light.sh']);
  console.log(status === 0 ? '' : '\nquickstart: something above did not go as it should.');
  console.log('The copy is gone; this machine is as it was.');
  return status;
}

function planOnly(directory: string): number {
  console.log('Without root only what changes nothing: the document is checked and compared with this machine.');
  return runShown([join(directory, 'light.sh'), 'plan']);
}

function runShown(script: readonly string[]): number {
  return spawnSync('sh', script, { stdio: ['ignore', 'inherit', 'inherit'] }).status ?? 1;
}
