import type { Clause } from '../../src/diagnosis/conformance/clause.ts';
import { CLAUSES } from '../../src/diagnosis/conformance/index.ts';
import { WINDOWS_CLAUSES } from '../../src/diagnosis/conformance/windows.ts';

const BLOCK = /(<!-- clauses: [^\n]*-->\n)[\s\S]*?(<!-- end of clauses -->)/;

/** The titles of the sections of contract/CONTRACT.md that `machineadm conformance` checks, by the prefix of the clause ids. */
const SECTIONS: Readonly<Record<string, string>> = {
  IMG: 'What the image must have',
  KUB: 'What an image with Kubernetes must have',
  WIN: 'What a Windows image with Kubernetes must have',
  UNIT: 'The units, where they are installed',
  RUN: 'What a run leaves',
};

/** Replaces the clauses in `text`, the present contract/CONTRACT.md, with those that `machineadm conformance` checks. */
export function contractWithClauses(text: string): string {
  const sections = Object.entries(SECTIONS).map(([prefix, title]) => {
    const rows = [...CLAUSES, ...WINDOWS_CLAUSES].filter(({ id }) => id.startsWith(`${prefix}-`)).map(row);
    return `\n## ${title}\n\n| Id | | Clause |\n|---|---|---|\n${rows.join('\n')}\n`;
  });
  return text.replace(BLOCK, (_, begin: string, end: string) => `${begin}${sections.join('')}\n${end}`);
}

function row({ id, level, title }: Clause): string {
  return `| ${id} | ${level} | ${title.replaceAll('|', '\\|')} |`;
}
