import type { LoadedDocument } from '@machineadm/document/load.ts';
import { gatherFacts, openQueryHost, requireLinux } from '../host/index.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { imagePart } from './image.ts';
import { INSTANCE_PATHS, MACHINE_ID, SSH_DIRECTORY, SSH_HOST_KEY } from './instance-paths.ts';
import { instanceIdentity, withNotes } from './journal.ts';
import { stepsFor } from './pipeline.ts';
import { type PlannedChange, planSteps } from './plan.ts';
import { refuseUnlessRoot } from './preflight.ts';
import { baseDigest, readPrepared, usableNotes } from './prepared.ts';
import { journalForInstance, peekJournal } from './run-journal.ts';

/** A problem of an image. */
export interface ImageFinding {
  /** A file, or the id of a missing change. */
  readonly what: string;
  readonly why: string;
  readonly remedy: string;
}

export interface ImageVerdict {
  /** Changes of the document that are not in effect. */
  readonly changes: readonly PlannedChange[];
  /** Files that should not be in the image, or are missing. */
  readonly findings: readonly ImageFinding[];
}

/**
 * Checks a machine that is about to become an image: everything that `document` requires of an image is in effect, the
 * manifest records it, and nothing specific to one machine is included. Read-only. Throws the refusals of `prepare`,
 * and errors of queries.
 */
export async function verifyImage(document: LoadedDocument): Promise<ImageVerdict> {
  requireLinux('machineadm prepare');
  const host = openQueryHost();
  const facts = await gatherFacts(host);
  refuseUnlessRoot(facts);
  const { model } = imagePart(document);
  const found = await peekJournal(host);
  const prepared = await readPrepared(host);
  const identity = instanceIdentity(facts, model.metadata.uid);
  const journal = withNotes(journalForInstance(found, identity), usableNotes(prepared, found, identity));
  const { changes } = await planSteps(stepsFor('base', model.host.platform), {
    model,
    facts,
    host,
    journal,
    scope: 'base',
  });
  const findings = await instanceResidue(host, model.reporting.sentinelPath);
  if (prepared?.baseSha256 !== baseDigest(document)) {
    findings.unshift({
      what: 'prepared.json',
      why: prepared === undefined ? 'the image was not prepared' : 'the image was prepared with another document',
      remedy: 'Run machineadm prepare with this document, and verify again.',
    });
  }
  return { changes, findings };
}

/**
 * Files on this disk that are specific to one machine. What is in memory only, as /run is on most systems, is not part
 * of an image.
 */
export async function instanceResidue(host: QueryHost, sentinelPath: string): Promise<ImageFinding[]> {
  const findings: ImageFinding[] = [];
  const id = ((await host.readText(MACHINE_ID)) ?? '').trim();
  if (id !== '' && id !== 'uninitialized') {
    const why = 'all machines booted from the image would have one id, and one address from DHCP';
    findings.push({
      what: MACHINE_ID,
      why,
      remedy: 'Empty it at the end of the bake: `truncate -s 0 /etc/machine-id`.',
    });
  }
  for (const { path, below, what, remedy } of INSTANCE_PATHS) {
    const stat = await host.stat(path);
    if (stat === undefined || stat.type === 'symlink') continue;
    if (below !== true) findings.push({ what: path, why: what, remedy });
    else
      for (const name of (await host.list(path)) ?? []) findings.push({ what: `${path}/${name}`, why: what, remedy });
  }
  for (const name of (await host.list('/var/lib/machineadm')) ?? []) {
    if (!name.startsWith('journal.')) continue;
    const remedy = 'Remove it at the end of the bake.';
    findings.push({ what: `/var/lib/machineadm/${name}`, why: 'the journal of another machine', remedy });
  }
  for (const name of ((await host.list(SSH_DIRECTORY)) ?? []).filter((name) => SSH_HOST_KEY.test(name))) {
    const why = 'all machines booted from the image would have one SSH host key';
    const remedy = 'Remove the host keys at the end of the bake, and see that the first boot makes new ones.';
    findings.push({ what: `${SSH_DIRECTORY}/${name}`, why, remedy });
  }
  for (const path of [sentinelPath, '/run/machineadm']) {
    if ((await host.stat(path)) === undefined || (await isInMemory(host, path))) continue;
    findings.push({ what: path, why: 'the state of a run, on a disk', remedy: 'Remove it at the end of the bake.' });
  }
  return findings;
}

async function isInMemory(host: QueryHost, path: string): Promise<boolean> {
  const { status, stdout } = await host.query({ program: 'findmnt', args: ['-n', '-o', 'FSTYPE', '-T', path] });
  return status === 0 && /^(tmpfs|ramfs)$/m.test(stdout.trim());
}
