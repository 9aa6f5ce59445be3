/**
 * Compiles the parts of a bundled program, and saves what V8 made of them: `node [V8 FLAGS] code-cache.ts LOADER PARTS
 * DOCUMENTS`. Each part is compiled, and then the functions that these commands use, which only read their documents: what
 * they use does not depend on the machine that builds. For the agent of the tests there is a document to plan, too. V8 takes
 * a cache only under the flags that it was made under.
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
const loader: { compiled(name: string): Script; run(): void } = createRequire(import.meta.url)(loaderFile);
process.chdir(documents);

/** Runs one command in this process, and waits until nothing of it is left to be done. */
async function run(args: readonly string[]): Promise<void> {
  process.argv.splice(1, process.argv.length, 'machineadm', ...args);
  loader.run();
  // Node ends where nothing is left: one more turn keeps it going.
  await new Promise<void>((settle) => process.once('beforeExit', () => setImmediate(settle)));
}

// What was compiled would be forgotten after a while.
setFlagsFromString('--no-flush-bytecode');
const plans = existsSync('planned.yaml') ? [['plan', '-f', 'planned.yaml']] : [];
for (const command of [...COMMANDS, ...plans]) {
  await run(command);
  if (process.exitCode === 3) throw new Error(`a document is not valid: ${command.join(' ')}`);
}
setFlagsFromString('--flush-bytecode');
for (const name of readdirSync(parts)
  .filter((file) => file.endsWith('.js'))
  .sort())
  writeFileSync(join(parts, `${name}.cache`), loader.compiled(name).createCachedData());
process.exitCode = 0;
