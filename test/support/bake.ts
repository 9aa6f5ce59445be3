import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { LAB_DIRECTORY } from '../../scripts/lab/artefacts.ts';

/** A layer over a machine image, as an image build leaves it. */
export interface BakedLayer {
  readonly path: string;
  remove(): void;
}

/**
 * Runs a shell script on a machine image, where no systemd runs, and keeps what it changed as a layer to boot machines with.
 *
 * @param lower the image and the layers over it, uppermost first
 * @param shared a directory that the script needs
 * @param place `inside`: in a chroot of the image, with ROOT empty and `shared` at /bake; `outside`: in `shared`, with the
 *   image at ROOT
 */
export function bake(
  lower: readonly string[],
  shared: string,
  script: string,
  place: 'inside' | 'outside' = 'inside',
): BakedLayer {
  // Upper layers of an overlay must lie on a real file system.
  const directory = mkdtempSync(join(LAB_DIRECTORY, 'bake-'));
  const [layer, work, merged] = ['layer', 'work', 'merged'].map((name) => join(directory, name));
  for (const path of [layer, work, merged]) mkdirSync(path ?? '', { mode: 0o755 });
  const inside = `mount -t overlay overlay -o "lowerdir=$1,upperdir=$2,workdir=$3" "$4"
clean="env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive"
if [ "$7" = outside ]; then cd "$5"; exec $clean ROOT="$4" sh -euc "$6"; fi
mkdir "$4/bake"; mount --bind "$5" "$4/bake"; mount -t proc proc "$4/proc"
$clean ROOT= chroot "$4" sh -euc "$6"
umount "$4/bake" "$4/proc"; rmdir "$4/bake"`;
  const places = [lower.join(':'), layer ?? '', work ?? '', merged ?? '', shared, script, place];
  const { status, stdout, stderr } = spawnSync(
    'unshare',
    ['--mount', '--propagation', 'private', 'sh', '-euc', inside, 'bake', ...places],
    { encoding: 'utf8' },
  );
  const remove = () => rmSync(directory, { recursive: true, force: true });
  if (status === 0) return { path: layer ?? '', remove };
  remove();
  throw new Error(`the image could not be baked (${status}):\n${stdout}${stderr}`);
}
