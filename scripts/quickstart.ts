/**
 * From a clone to a working node: `npm run quickstart`. As root on Debian it bootstraps a real control plane in a
 * disposable lab machine; `--light`, and everywhere else, it shows the host half in seconds. `--keep` leaves the machine.
 */
import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { labObstacle, labQuickstart } from './quickstart/lab.ts';
import { lightQuickstart } from './quickstart/light.ts';

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { light: { type: 'boolean', default: false }, keep: { type: 'boolean', default: false } },
  });
  const root = resolve(import.meta.dirname, '..');
  const built = spawnSync(process.execPath, [join(root, 'scripts/build.ts')], { stdio: 'inherit' });
  if (built.status !== 0) {
    return 1;
  }
  const binary = join(root, 'dist/machineadm');
  const obstacle = values.light ? undefined : labObstacle();
  if (obstacle !== undefined) console.log(`No real node here: ${obstacle}. Going on with --light.\n`);
  if (values.light || obstacle !== undefined) return lightQuickstart(binary);
  return labQuickstart(binary, values.keep);
}

process.exitCode = await main();
