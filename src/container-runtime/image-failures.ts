import { errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { textLines } from '@machineadm/document/text/printable.ts';
import type { CommandResult, QueryHost } from '../host/seam/host.ts';

/** What a reset leaves of the steps that bring images. */
export const IMAGES_LEFT = 'the container images in the store of containerd: other containers may use them';

/** Throws `ImageArchiveUnreadable` for a file with a different SHA-256 (lower-case hex). */
export async function checkDigest(host: Pick<QueryHost, 'sha256'>, path: string, want: string): Promise<void> {
  const got = await host.sha256(path);
  if (got !== want) throw unreadable(path, `its SHA-256 is ${got ?? 'unknown'}, the document says ${want}`);
}

/** Converts an error of reading an archive into its reason; a wrong digest explains more than a damaged tar. */
export async function explaining<T>(
  host: Pick<QueryHost, 'sha256'>,
  path: string,
  sha256: string | undefined,
  read: () => Promise<T>,
): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof MachineadmError && error.reason !== 'ImagePlatformMismatch') throw error;
    if (sha256 !== undefined) await checkDigest(host, path, sha256);
    if (error instanceof MachineadmError) throw error;
    throw unreadable(path, errorMessage(error), error);
  }
}

/** The meaning of a failed `ctr images import`. */
export function importFailed(path: string, { status, stderr }: CommandResult): MachineadmError {
  const lines = textLines(stderr);
  const evidence = lines.slice(-5).map((text) => ({ source: 'ctr images import', text: redact(text) }));
  if (/no space left on device/.test(stderr)) {
    return new MachineadmError({
      reason: 'DiskFull',
      summary: `no space is left for the images of ${path}`,
      remedy: "Free space on the file system of containerd's data (/var/lib/containerd by default).",
      evidence,
      retryable: true,
    });
  }
  if (/content digest \S+ not found|invalid tar header|unexpected EOF|unrecognized image format/.test(stderr)) {
    return unreadable(path, `containerd cannot import it: ${evidence.at(-1)?.text ?? ''}`);
  }
  return new MachineadmError({
    reason: 'HostStepFailed',
    summary: `the images of ${path} could not be imported (ctr ended with ${status})`,
    remedy: 'The evidence is the output of ctr; `journalctl -u containerd` has more.',
    evidence,
  });
}

/** The error for an archive that cannot be used. */
export function unreadable(path: string, why: string, cause?: unknown): MachineadmError {
  return new MachineadmError({
    reason: 'ImageArchiveUnreadable',
    summary: `the image archive ${path} cannot be used: ${why}`,
    remedy:
      'Copy the archive again, or correct its entry in images.archives; it must be what `docker save` or `ctr images export` writes.',
    cause,
  });
}

/** Archives of the document that are missing, all of them. */
export function archivesAbsent(paths: readonly string[]): MachineadmError {
  const [first = '', ...more] = paths;
  if (more.length === 0) return unreadable(first, 'the file does not exist');
  return new MachineadmError({
    reason: 'ImageArchiveUnreadable',
    summary: `${paths.length} image archives do not exist: ${paths.join(', ')}`,
    remedy: 'Copy the archives to their places, or correct their entries in images.archives.',
  });
}

/** Required images that are missing, all of them; `held` is what could have provided them. */
export function imagesMissing(
  summary: string,
  missing: readonly string[],
  held: readonly { readonly source: string; readonly text: string }[],
  remedy: string,
): MachineadmError {
  return new MachineadmError({
    reason: 'ImageMissing',
    summary: `${summary}: ${missing.join(', ')}`,
    remedy: `${remedy} Names must be equal, including registry and tag. \`ctr -n k8s.io images ls\` lists the existing images.`,
    evidence: held,
  });
}
