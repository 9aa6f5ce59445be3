import { type BundleFile, packBundle } from '../diagnosis/bundle/archive.ts';
import { cleanse } from '../diagnosis/bundle/cleanse.ts';
import { gatherFiles } from '../diagnosis/bundle/gather.ts';
import { lookAround } from '../diagnosis/checks/check.ts';
import type { LoadedDocument } from '../document/load.ts';
import { redactDeep } from '../document/redaction.ts';
import { documentSecrets } from '../document/secrets-of.ts';
import type { Facts } from '../host/facts.ts';
import type { QueryHost } from '../host/host.ts';
import { gatherFacts, openQueryHost, requireLinux } from '../host/index.ts';
import { readStatus } from '../reporting/status-file.ts';
import { verdictOnMachine } from './diagnose-machine.ts';
import { looksAt } from './doctor.ts';
import { openDocument } from './load.ts';
import { makePlan } from './plan.ts';
import { refuseUnlessRoot } from './preflight.ts';
import { JOURNAL_PATH } from './run-journal.ts';

const LIMIT_MS = 15_000;

/**
 * Everything that helps to understand what happened on this machine, without secrets: the bytes of a tar.gz. With a
 * document, also what a run of it would do, and its secrets are removed by value. Changes nothing. Throws
 * `NotPrivilegedUser` and what is wrong with the document.
 */
export async function makeBundle(sources: readonly string[], agentVersion: string): Promise<Uint8Array> {
  requireLinux('machineadm bundle');
  const host = openQueryHost();
  const facts = await gatherFacts(host);
  refuseUnlessRoot(facts);
  // Read first: its secrets are known from here on.
  const document = sources.length === 0 ? undefined : await openDocument(sources, agentVersion);
  if (document !== undefined) await learnSecrets(host, document);
  const files = (
    await Promise.all([gatherFiles(host), ownRecords(host), findings(host, facts, document), planFile(document)])
  ).flat();
  return packBundle(files, { kind: 'MachineadmBundle', version: 1, agent: agentVersion });
}

/** Those that are had without effects. One that cannot be had cannot be in what is gathered by its value either. */
async function learnSecrets(host: QueryHost, document: LoadedDocument): Promise<void> {
  for (const secret of documentSecrets(document)) await host.secret(secret).catch(() => undefined);
}

/** Status, timeline and the journal from which a run resumes. */
async function ownRecords(host: QueryHost): Promise<readonly BundleFile[]> {
  const status = await readStatus().catch(() => undefined);
  const journal = await host.readText(JOURNAL_PATH);
  return [
    ...(status === undefined ? [] : [json('status.json', status), json('timeline.json', status.timeline)]),
    ...(journal === undefined ? [] : [{ path: 'journal.jsonl', content: cleanse(journal) }]),
  ];
}

async function findings(
  host: QueryHost,
  facts: Facts,
  document: LoadedDocument | undefined,
): Promise<readonly BundleFile[]> {
  const status = await readStatus().catch(() => undefined);
  const verdict = await verdictOnMachine(host, facts, status);
  const checks = await lookAround(looksAt(host, facts, document?.model), LIMIT_MS);
  return [
    json('facts.json', facts),
    ...(verdict === undefined ? [] : [json('diagnosis.json', verdict)]),
    json('doctor.json', checks),
  ];
}

async function planFile(document: LoadedDocument | undefined): Promise<readonly BundleFile[]> {
  if (document === undefined) return [];
  try {
    return [json('plan.json', await makePlan(document, 'all'))];
  } catch (error) {
    return [json('plan.json', { refused: error instanceof Error ? error.message : String(error) })];
  }
}

function json(path: string, value: unknown): BundleFile {
  return { path, content: `${JSON.stringify(redactDeep(value), undefined, 2)}\n` };
}
