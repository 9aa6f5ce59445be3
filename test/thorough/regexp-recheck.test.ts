import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { type AttackPattern, check } from 'recheck';
import * as z from 'zod';
import { composedExpressions, type Expression, literalsIn, SOURCES } from '../support/expressions.ts';

const FIXTURE = 'test/fixtures/rechecked-expressions.json';
/** How long recheck may take for one expression. It needs minutes for some, above all those with large bounded repetitions. */
const BOUND_MS = 3000;

/**
 * Expressions that recheck judged before, by their contents, because that takes ten minutes for all. `bounded` are those for which it
 * has an attack whose cost stops growing faster than the text, as `.{0,300}x` in a text of dots: recheck tries shorter texts than
 * that. `undecided` are those for which recheck exceeds its bound; only the judge of `regexp-growth.test.ts` decides there.
 */
const Judged = z.strictObject({
  safe: z.array(z.string()),
  bounded: z.array(z.string()),
  undecided: z.array(z.string()),
});
type Verdict = keyof z.infer<typeof Judged>;

test('recheck finds an attack where there is one, and it is not taken for bounded', async () => {
  const judged = (source: string) => verdict({ source, flags: '' }, 120_000);
  for (const source of ['(a+)+$', '^(a|a)*$', '\\s+$']) await assert.rejects(judged(source), /grows/, source);
  assert.equal(await judged('^[a-z]+=\\d+$'), 'safe');
  assert.equal(await judged('\\(([^)]{0,1000})\\)'), 'bounded');
});

test('recheck knows no attack on any expression of the sources (MACHINEADM_WRITE_EXPRESSIONS=1 writes the record)', async () => {
  const expressions = await expressionsOfSources();
  const { safe, bounded, undecided } = Judged.parse(JSON.parse(readFileSync(FIXTURE, 'utf8')));
  const known = new Map<string, Verdict>([
    ...safe.map((name) => [name, 'safe'] as const),
    ...bounded.map((name) => [name, 'bounded'] as const),
    ...undecided.map((name) => [name, 'undecided'] as const),
  ]);
  const record: Record<Verdict, string[]> = { safe: [], bounded: [], undecided: [] };
  for (const [text, expression] of expressions) {
    const name = nameOf(text);
    const found = known.get(name) ?? known.get(text) ?? (await verdict(expression));
    record[found].push(found === 'safe' ? name : text);
  }
  for (const names of Object.values(record)) names.sort();
  if (process.env.MACHINEADM_WRITE_EXPRESSIONS === '1') writeFileSync(FIXTURE, `${JSON.stringify(record, null, 2)}\n`);
  else
    assert.deepEqual(
      [...known.keys()].filter((name) => !Object.values(record).flat().includes(name)),
      [],
      'gone',
    );
  assert.ok(expressions.size > 1700, `only ${expressions.size} expressions were found`);
});

async function expressionsOfSources(): Promise<ReadonlyMap<string, Expression>> {
  const all = [...SOURCES.flatMap(literalsIn), ...(await composedExpressions())];
  return new Map(all.map(({ source, flags }) => [`/${source}/${flags}`, { source, flags }]));
}

function nameOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 24);
}

/** Rejects where the cost of an attack grows faster than its text. */
async function verdict({ source, flags }: Expression, boundMs = BOUND_MS): Promise<Verdict> {
  const found = await check(source, flags, { timeout: boundMs });
  if (found.status === 'safe') return 'safe';
  if (found.status === 'unknown') return 'undecided';
  const costs: number[] = [];
  for (let length = 2 ** 14; length <= 2 ** 16 && costs.at(-1) !== Number.POSITIVE_INFINITY; length *= 2)
    costs.push(cost({ source, flags }, attackOf(found.attack, length)));
  const grows =
    costs.at(-1) === Number.POSITIVE_INFINITY || costs.every((ms, at) => at === 0 || ms > 3 * (costs[at - 1] ?? 0));
  assert.ok(!grows, `/${source}/${flags} grows faster than ${found.attack.pattern}: ${costs.join(', ')} ms`);
  return 'bounded';
}

function attackOf({ pumps, suffix }: AttackPattern, length: number): string {
  const piece = pumps.reduce((sum, { pump }) => sum + pump.length, 0);
  const times = Math.ceil(length / piece);
  return pumps.map(({ prefix, pump }) => prefix + pump.repeat(times)).join('') + suffix;
}

/** Processor time in milliseconds; infinite if it is more than five seconds. */
function cost(expression: Expression, text: string): number {
  const before = process.cpuUsage();
  try {
    runInNewContext('new RegExp(source, flags).test(text)', { ...expression, text }, { timeout: 5000 });
  } catch {
    return Number.POSITIVE_INFINITY;
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
