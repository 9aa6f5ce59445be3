import { readFileSync } from 'node:fs';
import * as z from 'zod';

/** The page that `node scripts/test.ts --generate attacks` writes. */
export const SECURITY_TESTS = 'docs/security-tests.md';

const AttackResult = z.object({
  kind: z.string(),
  attack: z.string(),
  tries: z.int(),
  wins: z.int(),
  /** From inside a unit of the service manager: the unit, and how exposed `systemd-analyze security` says that it is. */
  unit: z.object({ name: z.string(), exposure: z.string() }).optional(),
});
type AttackResult = z.infer<typeof AttackResult>;

/** Reads the results that the attack tests wrote to a file as lines of JSON (`test/support/attacks.ts`). Adds up rows with the same name. */
export function readAttackResults(file: string): readonly AttackResult[] {
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  const rows = new Map<string, AttackResult>();
  for (const line of lines) {
    const { kind, attack, tries, wins, unit } = AttackResult.parse(JSON.parse(line));
    const name = `${kind}\n${attack}`;
    const { tries: earlier = 0, wins: won = 0 } = rows.get(name) ?? {};
    rows.set(name, { kind, attack, tries: earlier + tries, wins: won + wins, ...(unit === undefined ? {} : { unit }) });
  }
  return [...rows.values()];
}

/** A Markdown table, sorted by kind and name. The last row has the totals. */
export function attackTable(results: readonly AttackResult[]): string {
  const sorted = [...results].sort((a, b) => compare(a.kind, b.kind) || compare(a.attack, b.attack));
  const sum = (key: 'tries' | 'wins'): number => results.reduce((total, result) => total + result[key], 0);
  const rows = [
    ...sorted.map(({ kind, attack, tries, wins }) => [kind, attack, grouped(tries), grouped(wins)]),
    ['', '**all**', `**${grouped(sum('tries'))}**`, `**${grouped(sum('wins'))}**`],
  ];
  return ['| Kind | Attack | Tries | Wins |', '|---|---|---:|---:|', ...rows.map((row) => `| ${row.join(' | ')} |`)]
    .map((line) => `${line}\n`)
    .join('');
}

/** What `systemd-analyze security` says of each unit, beside what was tried from inside it; empty where no unit was attacked. */
export function unitTable(results: readonly AttackResult[]): string {
  const units = new Map<string, readonly AttackResult[]>();
  for (const result of results)
    if (result.unit !== undefined) units.set(result.unit.name, [...(units.get(result.unit.name) ?? []), result]);
  if (units.size === 0) return '';
  const rows = [...units].map(([name, tried]) => {
    const won = tried.filter(({ wins }) => wins > 0).map(({ attack }) => attack.slice(`${name}: `.length));
    const what = won.length === 0 ? 'none' : won.join(', ');
    return `| \`${name}.service\` | ${tried[0]?.unit?.exposure ?? ''} | ${tried.length} | ${what} |\n`;
  });
  return `## The units from inside

\`systemd-analyze security\` counts settings, from 0 (all are used) to 10 (none is). It does not say whether an attacker inside can get out. So each attempt
is also made from inside the unit with its settings, on a system that systemd booted in a container (\`systemd-nspawn\`): \`test/attacks/unit-sandbox.test.ts\`.

| Unit | \`systemd-analyze security\` | Attempts from inside | Won |
|---|---|---:|---|
${rows.join('')}
`;
}

/** The page for readers of the documentation. */
export function securityTestsPage(results: readonly AttackResult[]): string {
  return `<!-- Written by "node scripts/test.ts --generate attacks". Do not edit. -->

# Security tests

\`npm run test:attacks\` carries out each attack below against the current sources, as root, on a Linux machine. A *win* is
a try in which the attacker got what the attack is for: a file written, read, changed or removed outside of the
attacker's reach, or a secret found where it must not be. \`npm test\` and \`npm run test:slow\` run the same attacks with fewer tries.
[SECURITY.md](../SECURITY.md) says what machineadm defends against, and what it does not.

${unitTable(results)}## All attacks

${attackTable(results)}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function grouped(count: number): string {
  return count.toLocaleString('en-US');
}
