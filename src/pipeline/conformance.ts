import { redactDeep } from '@machineadm/document/redaction.ts';
import { CONTRACT_VERSION } from '../diagnosis/conformance/clause.ts';
import { type Judgement, judge } from '../diagnosis/conformance/index.ts';
import { gatherFacts, openQueryHost, requireLinux } from '../host/index.ts';
import { selfCommand } from '../host/processes/identity.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { STATUS_PATHS } from '../reporting/status-writer.ts';
import { refuseUnlessRoot } from './preflight.ts';

export interface ConformanceReport {
  readonly contract: string;
  /** False where a MUST is broken. */
  readonly conforms: boolean;
  readonly os: { readonly id: string; readonly version: string };
  readonly clauses: readonly Judgement[];
}

/**
 * Holds this machine, or the image that this program runs in, against the contract (contract/CONTRACT.md). Changes
 * nothing: it is handed a host that can only be asked. Throws `NotPrivilegedUser`.
 */
export async function conformance(): Promise<ConformanceReport> {
  requireLinux('machineadm conformance');
  const host = openQueryHost();
  const facts = await gatherFacts(host);
  refuseUnlessRoot(facts);
  const [program = ''] = selfCommand();
  const clauses = redactDeep(
    await judge({
      host,
      facts,
      isBooted: facts.serviceManager !== 'none',
      program,
      status: await readStatusFile(host),
    }),
  );
  return {
    contract: CONTRACT_VERSION,
    conforms: !clauses.some(({ level, state }) => level === 'MUST' && state === 'broken'),
    os: facts.os,
    clauses,
  };
}

/** As it lies there: a damaged one is a finding and no error. */
async function readStatusFile(host: QueryHost): Promise<Readonly<Record<string, unknown>> | undefined> {
  const text = await host.readText(STATUS_PATHS.current);
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
