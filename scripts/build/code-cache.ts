/**
 * Compiles the parts of a bundled program and saves their V8 code caches: `node [V8 FLAGS] code-cache.ts LOADER PARTS
 * DOCUMENTS`. It compiles each part, and the functions that the commands below use. These commands only read their
 * documents, so the result does not depend on the build machine. The agent of the tests also plans a document. V8 accepts
 * a cache only with the flags that it was made with. The names of the
 * parts that these commands used, in the order of their first use, are saved beside the directory of the parts (`.order`).
 */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import type { Script } from 'node:vm';

const COMMANDS = [
  ['version'],
  ['validate', '-f', 'init.yaml'],
  ['validate', '-f', 'worker.yaml'],
  ['render', 'kubeadm', '-f', 'init.yaml'],
];

const [loaderFile = '', parts = '', documents = ''] = process.argv.slice(2).map((path) => resolve(path));
const loader: { compiled(name: string): Script; run(): void; used(): string[] } = createRequire(import.meta.url)(
  loaderFile,
);
process.chdir(documents);

/** Runs one command in this process and waits until it has no pending work. */
async function run(args: readonly string[]): Promise<void> {
  process.argv.splice(1, process.argv.length, 'machineadm', ...args);
  loader.run();
  // Node exits when its event loop is empty. The immediate keeps it alive for the next command.
  await new Promise<void>((settle) => process.once('beforeExit', () => setImmediate(settle)));
}

// V8 would otherwise discard the bytecode of functions that have not run for some time.
setFlagsFromString('--no-flush-bytecode');
const plans = existsSync('planned.yaml') ? [['plan', '-f', 'planned.yaml']] : [];
for (const command of [...COMMANDS, ...plans]) {
  await run(command);
  if (process.exitCode === 3) throw new Error(`a document is not valid: ${command.join(' ')}`);
}
setFlagsFromString('--flush-bytecode');
writeFileSync(`${parts}.order`, loader.used().join('\n'));
for (const name of readdirSync(parts)
  .filter((file) => file.endsWith('.js'))
  .sort())
  writeFileSync(join(parts, `${name}.cache`), loader.compiled(name).createCachedData());
process.exitCode = 0;
