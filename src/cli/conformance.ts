import { type ExitName, exitCode } from '@machineadm/document/exit-codes.ts';
import type { Reason } from '@machineadm/document/reasons.ts';
import type { Judgement, Verdict } from '../diagnosis/conformance/index.ts';
import { type ConformanceReport, type ConformanceScope, conformance } from '../pipeline/conformance.ts';
import { type OutputFormat, printData, printReport, printText } from './output.ts';

export interface ConformanceOptions extends ConformanceScope {
  readonly output: OutputFormat | 'junit';
}

/** How each verdict ends the command. */
const ENDS: Readonly<Record<Verdict, { readonly exit: ExitName; readonly reason?: Reason; readonly text: string }>> = {
  kept: { exit: 'Success', text: 'keeps' },
  broken: { exit: 'DifferencesFound', reason: 'ContractBroken', text: 'does not keep' },
  notProven: { exit: 'NotProven', reason: 'ContractNotProven', text: 'is not proven to keep' },
};

/** `machineadm conformance`: a line for each clause of the contract. 20 where a MUST is broken, 22 where one is not proven. */
export async function conformanceCommand({ output, ...scope }: ConformanceOptions): Promise<number> {
  const report = await conformance(scope);
  const { exit, reason } = ENDS[report.verdict];
  if (output === 'junit') printText(formatJunit(report));
  else if (output === 'text') printReport(formatConformance(report));
  else await printData(output, 'ConformanceReport', reason === undefined ? report : { ...report, reason });
  return exitCode(exit);
}

const ORDER: readonly Judgement['state'][] = ['kept', 'notApplicable', 'notProven', 'broken'];

/** For people: what is broken last, where the eye is. */
export function formatConformance({ contract, profile, verdict, os, clauses }: ConformanceReport): string {
  const lines = clauses
    .toSorted((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state))
    .flatMap((clause) => {
      const head = `${markOf(clause)} ${clause.id} ${clause.level} ${clause.title}: ${clause.text}`;
      return clause.state === 'broken' ? [head, `     ${clause.remedy}`] : [head];
    });
  const count = (wanted: Judgement['state']): number => clauses.filter(({ state }) => state === wanted).length;
  const sum = `${count('kept')} kept, ${count('broken')} broken, ${count('notProven')} not proven, ${count('notApplicable')} not applicable`;
  const decisive = clauses.filter(({ state, level }) => state === verdict && level === 'MUST').map(({ id }) => id);
  const { reason, text } = ENDS[verdict];
  const named = reason === undefined ? `: ${sum}` : `: ${decisive.join(', ')}; ${sum} [${reason}]`;
  return [
    ...lines,
    `${`${os.id} ${os.version}`.trim()} ${text} contract ${contract} (profile ${profile})${named}`,
  ].join('\n');
}

function markOf({ state, level }: Judgement): string {
  if (state === 'broken') return level === 'MUST' ? 'FAIL' : 'warn';
  return { kept: 'ok  ', notProven: '?   ', notApplicable: '-   ' }[state];
}

/**
 * JUnit XML, as CI systems read it: a MUST that is broken is a failure, one that is not proven an error. A SHOULD fails no
 * pipeline: it is reported as skipped, with what was found.
 */
export function formatJunit({ contract, profile, os, clauses }: ConformanceReport): string {
  const cases = clauses.map((clause) => {
    const { id, level, title, state, text } = clause;
    const head = `    <testcase classname="machineadm.conformance.${id.split('-')[0]}" name="${escaped(`${id} ${level} ${title}`)}"`;
    if (state === 'kept') return `${head}/>`;
    const element =
      state === 'notApplicable' || level === 'SHOULD' ? 'skipped' : state === 'broken' ? 'failure' : 'error';
    const remedy = clause.state === 'broken' && element === 'failure' ? escaped(clause.remedy) : '';
    return `${head}><${element} message="${escaped(text)}">${remedy}</${element}></testcase>`;
  });
  const count = (element: string): number => cases.filter((one) => one.includes(`><${element} `)).length;
  const counts = `tests="${cases.length}" failures="${count('failure')}" errors="${count('error')}" skipped="${count('skipped')}"`;
  const name = escaped(`machineadm contract ${contract}, profile ${profile}, ${os.id} ${os.version}`.trim());
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="${name}" ${counts}>`,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

/** Text in an attribute or an element; characters that XML 1.0 does not have are replaced. */
function escaped(text: string): string {
  return text
    .replace(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\n', '&#10;');
}
