import type { Clause } from '../../src/diagnosis/conformance/clause.ts';
import { CLAUSES } from '../../src/diagnosis/conformance/index.ts';
import { WINDOWS_CLAUSES } from '../../src/diagnosis/conformance/windows.ts';

const BLOCK = /(<!-- clauses: [^\n]*-->\n)[\s\S]*?(<!-- end of clauses -->)/;

/** The sections of contract/CONTRACT.md that the suite checks, by the first part of their ids. */
const SECTIONS: Readonly<Record<string, string>> = {
  IMG: 'What the image must have',
  KUB: 'What an image with Kubernetes must have',
  WIN: 'What a Windows image with Kubernetes must have',
  UNIT: 'The units, where they are installed',
  RUN: 'What a run leaves',
};

/** contract/CONTRACT.md with its clauses as the suite has them. `text` is the file as it is; the rest of it stays. */
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
