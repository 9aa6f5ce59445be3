import { globSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as z from 'zod';
import { cpuSeconds } from './test-summary.ts';

/** What a room or a check came to: see `TestCounts`. */
export const Outcome = z.object({
  passed: z.int(),
  failed: z.int(),
  skipped: z.int(),
  cpuSeconds: z.number(),
  failures: z.array(z.object({ name: z.string(), because: z.string().optional() })),
});
export type Outcome = z.infer<typeof Outcome>;

/** A room, or a check, that ran. */
export type Ran = Outcome & { readonly name: string; readonly seconds: number };

/** A file system in memory that is there on every Linux with a glibc (shm_open(3)), though small in many containers. */
export const IN_MEMORY = '/dev/shm';

/** Where tests could leave something on this machine: what the agent keeps, and directories that they made. */
export const PLACES = [
  '/var/lib/machineadm/*',
  '/run/machineadm/*',
  '/etc/machineadm*',
  `{${tmpdir()},${IN_MEMORY}}/{machineadm,loop}-*`,
];

/** Says what lies in these places that did not before. Other runs beside this one put theirs there, too: it is no failure. */
export function tellLeftovers(before: readonly string[]): void {
  const left = globSync(PLACES).filter((path) => !before.includes(path));
  if (left.length > 0) console.log(`\nleft on this machine:\n${left.sort().join('\n')}`);
}

/** How much of the reason of a failure stands at the end: the whole of it stands where it failed. */
const REASON_LINES = 12;

/** Prints what failed once more: some thousand lines may lie in between. */
export function tellFailures(all: readonly Ran[]): void {
  for (const { name, failed, failures } of all.filter((one) => one.failed > 0)) {
    console.log(`\n${failed} failed in ${name}`);
    for (const failure of failures) {
      const because = (failure.because ?? '').split('\n').slice(0, REASON_LINES);
      console.log([`  ${failure.name}`, ...because.map((line) => `    ${line.slice(0, 500)}`)].join('\n'));
    }
  }
}

/** Prints what cost most: in processor time, which does not depend on what else the machine does, and how long it took. */
export function tellSlowest(all: readonly Ran[], count: number): void {
  const found = all.filter(({ cpuSeconds }) => cpuSeconds > 0).sort((a, b) => b.cpuSeconds - a.cpuSeconds);
  if (found.length < 2 || count === 0) return;
  console.log(`\nprocessor time: ${cpuSeconds().toFixed(0)} s in all, with the preparation and the checks`);
  for (const room of found.slice(0, count))
    console.log(`${room.cpuSeconds.toFixed(1).padStart(7)} s, within ${room.seconds.toFixed(0)} s: ${room.name}`);
}
