import type { LoadedDocument } from '@machineadm/document/loading/load.ts';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { omitUndefined } from '@machineadm/document/values/defined.ts';
import { hasRunningCommands } from '../host/index.ts';
import type { Host } from '../host/seam/host.ts';
import { createFingerprints, forgetCopies } from '../prior-state/copies.ts';
import { askedBy, documentIdOf, isSameAsked } from './asked.ts';
import type { Conclusion } from './conclusion.ts';
import { documentKey } from './documents.ts';
import type { ControlPlaneNames, KubeletNames } from './journal-record.ts';
import { podNames } from './pod-names.ts';
import { asRefusal } from './refusal.ts';
import type { CheckedRun } from './run-check.ts';
import { JOURNAL_PATH, openJournal, type RunJournal } from './run-journal.ts';
import type { OpenRun } from './run-perform.ts';

/** Opens the journal and records the start of this run. A problem refuses the run: nothing was changed yet. */
export async function beginJournal(
  { request, runId, facts, host }: Pick<OpenRun, 'request' | 'runId' | 'facts' | 'host'>,
  { document, known, notes, upgrade }: Extract<CheckedRun, { ok: true }>,
): Promise<RunJournal> {
  const { agentVersion } = request;
  const { kubernetes } = document.model;
  try {
    const journal = await openJournal(host, known.identity, JOURNAL_PATH, notes);
    journal.append({
      is: 'run',
      run: runId,
      agent: agentVersion,
      document: document.digest,
      lasting: document.lastingDigest,
      written: document.writtenDigest,
      ...documentIdOf(request, document),
      ...(kubernetes === undefined ? {} : { kubernetes: kubernetes.version }),
      ...omitUndefined({ kubelet: await kubeletNames(document), controlPlane: await controlPlaneNames(document) }),
      bootId: facts.bootId,
      at: new Date().toISOString(),
    });
    await recordAsked(host, journal, document, agentVersion);
    const at = new Date().toISOString();
    if (upgrade !== undefined && request.upgrade !== undefined)
      journal.append({ is: 'upgrade', now: 'Begun', ...upgrade, ...request.upgrade, at });
    return journal;
  } catch (error) {
    throw asRefusal(error);
  }
}

/** What a document asks of the kubelet, for the journal; undefined: kubeadm makes no node of it. */
async function kubeletNames({ model, lastingDigestWith }: LoadedDocument): Promise<KubeletNames | undefined> {
  const { kubernetes } = model;
  if (kubernetes === undefined || kubernetes.exec !== undefined) return undefined;
  const rest = await lastingDigestWith(kubernetes.version, ['kubelet']);
  const { config, args } = kubernetes.node.kubelet;
  return rest === undefined ? undefined : { rest, fields: Object.keys(config), args: args.map(({ name }) => name) };
}

/** The same for the static pods of a control plane. */
async function controlPlaneNames({ model, lastingDigestWith }: LoadedDocument): Promise<ControlPlaneNames | undefined> {
  const { kubernetes } = model;
  if (kubernetes === undefined || kubernetes.exec !== undefined) return undefined;
  const rest = await lastingDigestWith(kubernetes.version, ['controlPlane']);
  const bare = await lastingDigestWith(kubernetes.version, ['kubelet', 'controlPlane']);
  if (rest === undefined || bare === undefined) return undefined;
  return { rest, bare, pods: podNames(kubernetes) };
}

/**
 * Records what the document asks for, unless the journal has it. Before any change: later documents are checked against
 * it even if this run is killed.
 */
async function recordAsked(
  host: Host,
  journal: RunJournal,
  document: LoadedDocument,
  agentVersion: string,
): Promise<void> {
  const { before, documents, open } = journal.state();
  const known = [...documents.values()];
  // Copies without a record are those of another machine, or of a run that was killed before its first change.
  if (before.size === 0 && known.every(({ asked }) => asked === undefined)) await forgetCopies(host);
  const asked = askedBy(document, agentVersion, await createFingerprints(host));
  const last = open === undefined ? undefined : documents.get(documentKey(open))?.asked;
  if (last === undefined || !isSameAsked(last, asked)) journal.append({ is: 'document', ...asked });
}

/** Records how this run ended, and closes the journal. */
export function recordConclusion(
  journal: RunJournal,
  runId: string,
  { outcome, exit, failure }: Conclusion,
  warn: (message: string) => void,
): void {
  try {
    journal.append({
      is: 'concluded',
      run: runId,
      outcome,
      exitCode: exitCode(exit),
      reason: failure?.reason,
      ...(hasRunningCommands() ? { commandsLeft: true } : {}),
      at: new Date().toISOString(),
    });
  } catch (error) {
    warn(`the conclusion could not be journalled: ${errorMessage(error)}`);
  }
  journal.close();
}
