import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attackTable, securityTestsPage, unitTable } from '../../../scripts/attack-table.ts';

const RESULTS = [
  { kind: 'Races', attack: 'swap', tries: 10_000, wins: 0 },
  { kind: 'Bombs', attack: 'gzip', tries: 1, wins: 1 },
];

test('the table lists every attack by kind, with the sums in its last row', () => {
  assert.equal(
    attackTable(RESULTS),
    `| Kind | Attack | Tries | Wins |
|---|---|---:|---:|
| Bombs | gzip | 1 | 1 |
| Races | swap | 10,000 | 0 |
|  | **all** | **10,001** | **1** |
`,
  );
});

test('the page holds the table and says how it was made', () => {
  const page = securityTestsPage(RESULTS);
  assert.ok(page.endsWith(attackTable(RESULTS)));
  assert.match(page, /test:attacks/);
});

test('the units are listed with their exposure and what was won from inside', () => {
  const unit = { name: 'u', exposure: '1.8 OK' };
  const tried = (attack: string, wins: number) => ({ kind: 'Units', attack: `u: ${attack}`, tries: 1, wins, unit });
  const row = (results: Parameters<typeof unitTable>[0]) => unitTable(results).trim().split('\n').at(-1);
  assert.equal(row([tried('is root', 0), tried('mounts', 0)]), '| `u.service` | 1.8 OK | 2 | none |');
  assert.equal(row([tried('is root', 1), tried('mounts', 0)]), '| `u.service` | 1.8 OK | 2 | is root |');
  assert.equal(unitTable(RESULTS), '');
});
