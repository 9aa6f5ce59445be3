import { join } from 'node:path';
import type { LoadedDocument } from '@machineadm/document/loading/load.ts';
import { documentSecrets } from '@machineadm/document/loading/secrets-of.ts';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { stepTitle } from '@machineadm/document/ownership/step-ids.ts';
import { redactDeep } from '@machineadm/document/redaction/process-redactor.ts';
import type { Verdict } from '@machineadm/failures/verdict.ts';
import { page } from '@machineadm/status/page/index.ts';
import type { RunStatus } from '@machineadm/status/status.ts';
import { buildInfo } from '../../cli/build-info.ts';
import { type OutputFormat, printData, printNotice } from '../../cli/output.ts';
import { usageError } from '../../cli/usage-error.ts';
import { type BundleFile, packBundle } from '../../diagnosis/bundle/archive.ts';
import { cleanse } from '../../diagnosis/bundle/cleanse.ts';
import { gatherFiles } from '../../diagnosis/bundle/gather.ts';
import { runCheckGroups } from '../../diagnosis/checks/finding.ts';
import { gatherFacts, openQueryHost, requireLinux } from '../../host/index.ts';
import { hardwareOf } from '../../host/linux/hardware.ts';
import { makeOutputDirectory, writeOutputFile } from '../../host/local-files/output-file.ts';
import type { Facts } from '../../host/seam/facts.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { type OpenedDocument, openDocument } from '../../pipeline/load.ts';
import { stateOf } from '../../pipeline/machine-state.ts';
import { makePlan, type Plan } from '../../pipeline/plan.ts';
import { refuseUnlessRoot } from '../../pipeline/preflight.ts';
import { JOURNAL_PATH } from '../../pipeline/run-journal.ts';
import { readStatus } from '../../reporting/status-file.ts';
import { verdictOnMachine } from '../diagnose/machine.ts';
import { machineCheckGroups } from '../doctor/machine-checks.ts';
import { type Check, checkOf } from '../doctor/run.ts';

export interface BundleOptions {
  readonly document?: readonly string[];
  readonly output: OutputFormat;
  readonly outputFile?: string;
  readonly outputDir?: string;
}

const FILE_NAME = 'machineadm-bundle.tar.gz';

/** `machineadm bundle`: collects what a bug report needs, without secrets, in one file that only its owner may read. */
export async function bundle(options: BundleOptions): Promise<number> {
  const { output, outputFile, outputDir } = options;
  if (outputFile !== undefined && outputDir !== undefined) {
    throw usageError('--output-file and --output-dir exclude each other', 'Give one of them.');
  }
  if (outputFile === '-' && output !== 'text') {
    throw usageError(`-o ${output} and --output-file - both print to stdout`, 'Write the bundle into a file.');
  }
  const bytes = await makeBundle(options.document ?? []);
  if (outputFile === '-') {
    process.stdout.write(bytes);
    return exitCode('Success');
  }
  if (outputDir !== undefined) makeOutputDirectory(outputDir, '--output-dir');
  const path = outputFile ?? join(outputDir ?? '', FILE_NAME);
  writeOutputFile(path, bytes, '--output-file, or - for stdout');
  if (output !== 'text') await printData(output, 'Bundle', { path, bytes: bytes.length });
  printNotice(`wrote ${path} (${Math.ceil(bytes.length / 1024)} KiB); read it before you share it`);
  return exitCode('Success');
}

const LIMIT_MS = 15_000;

/**
 * Everything that helps to understand what happened on this machine, without secrets: the bytes of a tar.gz. With a
 * document it includes the plan, and the document's secrets are removed by value. Read-only. Throws `NotPrivilegedUser`
 * and the problems of the document.
 */
async function makeBundle(sources: readonly string[]): Promise<Uint8Array> {
  requireLinux('machineadm bundle');
  const { version: agentVersion } = buildInfo();
  const host = openQueryHost();
  const facts = await gatherFacts(host);
  refuseUnlessRoot(facts);
  // Read first, so that its secrets are redacted from here on.
  const document =
    sources.length === 0 ? undefined : await openDocument(sources, agentVersion, { distrust: 'collect' });
  if (document !== undefined) await learnSecrets(host, document);
  const [status, planned] = await Promise.all([readStatus().catch(() => undefined), planOf(document)]);
  const [gathered, records, hardware, found] = await Promise.all([
    gatherFiles(host),
    ownRecords(host, status),
    hardwareOf(host),
    findings(host, facts, status, document),
  ]);
  const files = [
    ...gathered,
    ...records,
    json('facts.json', facts),
    json('hardware.json', hardware),
    ...(found.verdict === undefined ? [] : [json('diagnosis.json', found.verdict)]),
    json('doctor.json', found.checks),
    ...(planned === undefined ? [] : [json('plan.json', planned)]),
  ];
  const index = page({
    ...found,
    status,
    facts,
    ...(planned !== undefined && 'changes' in planned ? { plan: planned.changes } : {}),
    files: files.map(({ path }) => path),
    agentVersion,
    titleOf: stepTitle,
  });
  return packBundle([...files, { path: 'index.html', content: index }], {
    kind: 'MachineadmBundle',
    version: 1,
    agent: agentVersion,
  });
}

/** Secrets that can be resolved without side effects. The others cannot occur in the collected data. */
async function learnSecrets(host: QueryHost, document: LoadedDocument): Promise<void> {
  for (const secret of documentSecrets(document)) await host.secret(secret).catch(() => undefined);
}

/** The status, the timeline and the journal from which a run resumes. */
async function ownRecords(host: QueryHost, status: RunStatus | undefined): Promise<readonly BundleFile[]> {
  const journal = await host.readText(JOURNAL_PATH);
  return [
    ...(status === undefined ? [] : [json('status.json', status), json('timeline.json', status.timeline)]),
    ...(journal === undefined ? [] : [{ path: 'journal.jsonl', content: cleanse(journal) }]),
  ];
}

interface Findings {
  /** undefined: machineadm was never run on this machine. */
  readonly verdict: Verdict | undefined;
  readonly checks: readonly Check[];
}

async function findings(
  host: QueryHost,
  facts: Facts,
  status: RunStatus | undefined,
  document: OpenedDocument | undefined,
): Promise<Findings> {
  const verdict = await verdictOnMachine(host, facts, status);
  const state = await stateOf(host, facts);
  const looked = await runCheckGroups(machineCheckGroups(host, facts, document, state), LIMIT_MS);
  return { verdict, checks: looked.map(checkOf) };
}

/** The changes that a run would make, or why it would be refused; undefined without a document. */
async function planOf(document: OpenedDocument | undefined): Promise<Plan | { refused: string } | undefined> {
  if (document === undefined) return undefined;
  try {
    return await makePlan(document, 'all');
  } catch (error) {
    return { refused: errorMessage(error) };
  }
}

function json(path: string, value: unknown): BundleFile {
  return { path, content: `${JSON.stringify(redactDeep(value), undefined, 2)}\n` };
}
