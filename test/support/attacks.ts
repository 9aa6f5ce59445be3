import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';

/** `npm run test:attacks` asks for 10,000; beside the integration tests each race is short. */
export const ATTACK_TRIES = Number(process.env.MACHINEADM_ATTACK_TRIES ?? 300);

/** Whether all is attacked, and not only the most telling part of it. */
export const IS_WHOLE_ATTACK = ATTACK_TRIES >= 10_000;

/** The user that attacks: no account, no group, no rights. */
export const ATTACKER_UID = 65534;

/** One row of `docs/security-tests.md`. */
export interface AttackResult {
  /** Heading of the table it belongs to: `Races`, `Canaries`, … */
  readonly kind: string;
  readonly attack: string;
  readonly tries: number;
  readonly wins: number;
  /** From inside a unit: its name, and how exposed `systemd-analyze security` says that it is. */
  readonly unit?: { readonly name: string; readonly exposure: string };
}

const RESULT_MARK = 'attack result: ';

/** What tests need that run in a throw-away machine, from which nothing but their output comes out. */
export function attackEnvironment(): Readonly<Record<string, string>> {
  const { MACHINEADM_ATTACK_TRIES: tries, MACHINEADM_ATTACK_RESULTS: results } = process.env;
  return {
    ...(tries === undefined ? {} : { MACHINEADM_ATTACK_TRIES: tries }),
    ...(results === undefined ? {} : { MACHINEADM_ATTACK_RESULTS: 'stdout' }),
  };
}

/** Adds the rows that tests in a throw-away machine printed. */
export function collectAttackResults(output: string): void {
  const file = process.env.MACHINEADM_ATTACK_RESULTS;
  if (file === undefined) return;
  const lines = output.split('\n').filter((line) => line.startsWith(RESULT_MARK));
  for (const line of lines) appendFileSync(file, `${line.slice(RESULT_MARK.length)}\n`);
}

function recordAttack(result: AttackResult): void {
  const line = JSON.stringify(result);
  const file = process.env.MACHINEADM_ATTACK_RESULTS;
  if (file === 'stdout') console.log(`${RESULT_MARK}${line}`);
  else if (file !== undefined) appendFileSync(file, `${line}\n`);
}

/** Adds a row to the table that `scripts/test.ts attacks` prints, and fails the test where the attacker won. */
export function reportAttack(result: AttackResult): void {
  recordAttack(result);
  assert.ok(result.tries > 0, `${result.attack}: nothing was tried`);
  assert.equal(result.wins, 0, `${result.attack}: the attacker won ${result.wins} of ${result.tries} tries`);
}

/**
 * The body of a test that carries out an attack: a row of the table, won where the body throws. It may return how many
 * tries it made, and 0 where it made none (a program is missing). Rows of one name become one.
 */
export function attack(
  kind: string,
  name: string,
  body: (context: TestContext) => unknown,
): (context: TestContext) => Promise<void> {
  return async (context) => {
    let made: unknown;
    try {
      made = await body(context);
    } catch (error) {
      recordAttack({ kind, attack: name, tries: 1, wins: 1 });
      throw error;
    }
    const tries = typeof made === 'number' ? made : 1;
    if (tries > 0) recordAttack({ kind, attack: name, tries, wins: 0 });
  };
}

export interface Race {
  readonly attack: string;
  /** Directory of the attacker, and the two names in it that he exchanges. */
  readonly directory: string;
  readonly names: readonly [string, string];
  /** What root does meanwhile. It may throw: a refusal is not a win. */
  readonly victim: () => Promise<unknown>;
  /** Set where the victim takes nothing from a directory of another user; else it must have met both names. */
  readonly isAlwaysRefused?: true;
  /** Looks whether the attacker got what he wanted, and puts everything back for the next try. */
  readonly isWon: () => boolean;
}

/**
 * Runs the victim again and again while an unprivileged user exchanges two names. Fails when the attacker wins once, and
 * when the race was none: the victim must have met both names.
 */
export async function runRace(t: TestContext, race: Race): Promise<void> {
  const { directory, names } = race;
  const swapper = spawn('python3', [resolve(import.meta.dirname, '../attacks/swap.py'), directory, ...names], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => swapper.kill('SIGKILL'));
  const lines = createInterface({ input: swapper.stdout })[Symbol.asyncIterator]();
  assert.equal((await lines.next()).value, 'ready');
  let [tries, wins, succeeded, refused] = [0, 0, 0, 0];
  // On a busy machine the attacker may sleep through all of a short race.
  const isFair = (): boolean => (race.isAlwaysRefused === true ? refused === tries : succeeded > 0 && refused > 0);
  while (tries < ATTACK_TRIES || (!isFair() && wins === 0 && tries < ATTACK_TRIES * 20)) {
    tries += 1;
    await race.victim().then(
      () => (succeeded += 1),
      () => (refused += 1),
    );
    if (race.isWon()) wins += 1;
  }
  swapper.stdin.end();
  const exchanges = Number((await lines.next()).value);
  if (swapper.exitCode === null) await once(swapper, 'exit');
  t.diagnostic(`${tries} tries, ${exchanges} exchanges: ${succeeded} done, ${refused} refused, ${wins} won`);
  reportAttack({ kind: 'Races', attack: race.attack, tries, wins });
  assert.ok(isFair(), `no race: the victim succeeded ${succeeded} times and was refused ${refused} times`);
}
