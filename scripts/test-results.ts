import { globSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as z from 'zod';
import { packagesNamedIn } from './test-packages.ts';
import { cpuSeconds } from './test-summary.ts';

/** The result of a test group or a check: see `TestCounts`. */
export const Outcome = z.object({
  passed: z.int(),
  failed: z.int(),
  skipped: z.int(),
  cpuSeconds: z.number(),
  failures: z.array(z.object({ name: z.string(), because: z.string().optional() })),
  /** Why each skipped test or suite was skipped. */
  skips: z.array(z.string()),
});
export type Outcome = z.infer<typeof Outcome>;

/** A test group or a check that ran. */
export type Ran = Outcome & { readonly name: string; readonly seconds: number };

/** An in-memory file system that exists on every Linux with glibc (shm_open(3)), but is small in many containers. */
export const IN_MEMORY = '/dev/shm';

/** Paths where tests could leave files on this machine: the state of the agent, and temporary directories. */
export const LEFTOVER_PATTERNS = [
  '/var/lib/machineadm/*',
  '/run/machineadm/*',
  '/etc/machineadm*',
  `{${tmpdir()},${IN_MEMORY}}/{machineadm,loop}-*`,
];

/** Prints new files in these places. They are not a failure, because concurrent runs also create files there. */
export function printLeftovers(before: readonly string[]): void {
  const left = globSync(LEFTOVER_PATTERNS).filter((path) => !before.includes(path));
  if (left.length > 0) console.log(`\nleft on this machine:\n${left.sort().join('\n')}`);
}

/** The maximum number of lines of a failure in the summary. The whole text is in the output of the test. */
const REASON_LINES = 12;

/** The failures, to print again at the end, because the output can have thousands of lines. */
export function failureTexts(all: readonly Ran[]): readonly string[] {
  return all
    .filter((one) => one.failed > 0)
    .map(({ name, failed, failures }) => {
      const each = failures.flatMap((failure) => [
        `  ${failure.name}`,
        ...(failure.because ?? '')
          .split('\n')
          .slice(0, REASON_LINES)
          .map((line) => `    ${line.slice(0, 500)}`),
      ]);
      return [`${failed} failed in ${name}`, ...each].join('\n');
    });
}

/** Prints why tests were skipped, with their counts, and what installs the missing programs. */
export function printSkipped(all: readonly Ran[]): void {
  const counts = Map.groupBy(
    all.flatMap(({ skips }) => skips),
    (reason) => reason,
  );
  if (counts.size === 0) return;
  console.log('\nskipped:');
  for (const [reason, { length }] of [...counts].sort(([a], [b]) => a.localeCompare(b)))
    console.log(`${String(length).padStart(7)}  ${reason}`);
  const packages = packagesNamedIn(counts.keys());
  if (packages.length > 0)
    console.log(`\`npm run setup:tests\`, as root on a Debian-like system, installs ${packages.join(', ')}`);
}

/** Prints the slowest groups by processor time, which depends less on other processes than the elapsed time. */
export function printSlowest(all: readonly Ran[], count: number): void {
  const found = all.filter(({ cpuSeconds }) => cpuSeconds > 0).sort((a, b) => b.cpuSeconds - a.cpuSeconds);
  if (found.length < 2 || count === 0) return;
  console.log(`\nprocessor time: ${cpuSeconds().toFixed(0)} s in all, with the preparation and the checks`);
  for (const room of found.slice(0, count))
    console.log(`${room.cpuSeconds.toFixed(1).padStart(7)} s, within ${room.seconds.toFixed(0)} s: ${room.name}`);
}
