import type { LoadedDocument } from '@machineadm/document/loading/load.ts';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { RUN_DIRECTORY, STATE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { redactDeep } from '@machineadm/document/redaction/process-redactor.ts';
import { buildInfo } from '../../cli/build-info.ts';
import { printCheckReport } from '../../cli/findings.ts';
import type { DocumentOptions } from '../../cli/options.ts';
import type { Finding } from '../../diagnosis/checks/finding.ts';
import { gatherFacts, openQueryHost, requireLinux } from '../../host/index.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { runChecks } from '../../host/time/checks.ts';
import { sourcesOf } from '../../pipeline/change-source.ts';
import { imagePart } from '../../pipeline/image.ts';
import { INSTANCE_PATHS, MACHINE_ID, SSH_DIRECTORY, SSH_HOST_KEY } from '../../pipeline/instance-paths.ts';
import { instanceIdentity, withNotes } from '../../pipeline/journal.ts';
import { openDocument } from '../../pipeline/load.ts';
import { stepsFor } from '../../pipeline/pipeline.ts';
import { type PlannedChange, planSteps } from '../../pipeline/plan.ts';
import { refuseUnlessRoot } from '../../pipeline/preflight.ts';
import { baseDigest, readPrepared, usableNotes } from '../../pipeline/prepared.ts';
import { journalForInstance, peekJournal } from '../../pipeline/run-journal.ts';

const REASON: Reason = 'ImageNotReady';

/** `machineadm prepare --verify`: lists what an image lacks. Changes nothing. */
export async function verifyImageCommand({ document, output }: DocumentOptions): Promise<number> {
  const { changes, findings } = await verifyImage(await openDocument(document, buildInfo().version));
  const ready = findings.length === 0;
  return await printCheckReport(output, {
    kind: 'ImageReadiness',
    name: 'machineadm prepare --verify',
    findings,
    data: {
      ready,
      ...(ready ? {} : { reason: REASON }),
      changes,
      // The fields also appear under the names they had first.
      findings: findings.map((finding) => ({ ...finding, what: finding.id, why: finding.text })),
    },
    verdict: ready ? 'the image is ready' : 'the image is not ready',
    ...(ready ? {} : { reason: REASON }),
    exit: ready ? 'Success' : 'DifferencesFound',
  });
}

export interface ImageVerdict {
  /** Changes of the document that are not in effect. */
  readonly changes: readonly PlannedChange[];
  /** These changes, and files that should not be in the image, or are missing. */
  readonly findings: readonly Finding[];
}

/**
 * Checks a machine that is about to become an image: everything that `document` requires of an image is in effect, the
 * manifest records it, and nothing specific to one machine is included. Read-only. Throws the refusals of `prepare`; a query that
 * fails is a finding.
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
  const steps = stepsFor('base', model.host.platform);
  const source = sourcesOf({ ...document, model });
  const changes: PlannedChange[] = [];
  const planChanges = async (): Promise<readonly Finding[]> => {
    const plan = await planSteps(steps, { model, facts, host, journal, scope: 'base', source });
    changes.push(...plan.changes);
    return plan.changes.map(notInEffect);
  };
  const isCurrent = prepared?.baseSha256 === baseDigest(document);
  const findings = await runChecks<string, Finding>(
    [
      ['prepared.json', () => (isCurrent ? [] : [otherManifest(prepared !== undefined)])],
      ['the changes of the document', planChanges],
      ['files of one machine', () => instanceResidue(host, model.reporting.sentinelPath)],
    ],
    (id, error) => ({ id, title: '', severity: 'undecided', text: `not known: ${errorMessage(error)}` }),
  );
  return { changes, findings: redactDeep(findings) };
}

const PREPARE_AGAIN = 'Run machineadm prepare with this document, and verify again.';

function notInEffect({ id, summary, field, position }: PlannedChange): Finding {
  const place = field === undefined || position === undefined ? {} : { field, position };
  return { ...problem(id, `does not hold: ${summary}`, PREPARE_AGAIN), ...place };
}

function otherManifest(isPrepared: boolean): Finding {
  const text = isPrepared ? 'the image was prepared with another document' : 'the image was not prepared';
  return problem('prepared.json', text, PREPARE_AGAIN);
}

/** @param id a file, or the id of a missing change */
function problem(id: string, text: string, remedy: string): Finding {
  return { id, title: '', severity: 'failed', text, remedy };
}

/**
 * Files on this disk that are specific to one machine. What is in memory only, as /run is on most systems, is not part
 * of an image.
 */
export async function instanceResidue(host: QueryHost, sentinelPath: string): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  const id = ((await host.readText(MACHINE_ID)) ?? '').trim();
  if (id !== '' && id !== 'uninitialized') {
    const why = 'all machines booted from the image would have one id, and one address from DHCP';
    findings.push(problem(MACHINE_ID, why, 'Empty it at the end of the bake: `truncate -s 0 /etc/machine-id`.'));
  }
  for (const { path, below, what, remedy } of INSTANCE_PATHS) {
    const stat = await host.stat(path);
    if (stat === undefined || stat.type === 'symlink') continue;
    const paths = below === true ? ((await host.list(path)) ?? []).map((name) => `${path}/${name}`) : [path];
    findings.push(...paths.map((one) => problem(one, what, remedy)));
  }
  const remove = 'Remove it at the end of the bake.';
  for (const name of (await host.list(STATE_DIRECTORY)) ?? []) {
    if (!name.startsWith('journal.')) continue;
    findings.push(problem(`${STATE_DIRECTORY}/${name}`, 'the journal of another machine', remove));
  }
  for (const name of ((await host.list(SSH_DIRECTORY)) ?? []).filter((name) => SSH_HOST_KEY.test(name))) {
    const why = 'all machines booted from the image would have one SSH host key';
    const remedy = 'Remove the host keys at the end of the bake, and make sure that the first boot creates new ones.';
    findings.push(problem(`${SSH_DIRECTORY}/${name}`, why, remedy));
  }
  for (const path of [sentinelPath, RUN_DIRECTORY]) {
    if ((await host.stat(path)) === undefined || (await isInMemory(host, path))) continue;
    findings.push(problem(path, 'the state of a run, on a disk', remove));
  }
  return findings;
}

async function isInMemory(host: QueryHost, path: string): Promise<boolean> {
  const { status, stdout } = await host.query({ program: 'findmnt', args: ['-n', '-o', 'FSTYPE', '-T', path] });
  return status === 0 && /^(tmpfs|ramfs)$/m.test(stdout.trim());
}
