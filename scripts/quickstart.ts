/**
 * From a clone to a working cluster: `npm run quickstart`. As root on Debian it bootstraps a real control plane in a
 * disposable lab machine, `--workers N` machines that join it, and shows the answer of a pod; `--light`, and everywhere
 * else, it shows the host half in seconds. `--keep` leaves the machines.
 */
import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { labObstacle, labQuickstart } from './quickstart/lab.ts';
import { lightQuickstart } from './quickstart/light.ts';

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      light: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      workers: { type: 'string', default: '0' },
    },
  });
  if (!/^[0-9]$/.test(values.workers)) {
    console.error(`quickstart: --workers ${values.workers}: expected a number from 0 to 9`);
    return 2;
  }
  const root = resolve(import.meta.dirname, '..');
  const built = spawnSync(process.execPath, [join(root, 'scripts/build.ts')], { stdio: 'inherit' });
  if (built.status !== 0) {
    return 1;
  }
  const binary = join(root, 'dist/machineadm');
  const obstacle = values.light ? undefined : labObstacle();
  if (obstacle !== undefined) console.log(`No real node here: ${obstacle}. Continuing with --light.\n`);
  if (values.light || obstacle !== undefined) return lightQuickstart(binary);
  return labQuickstart(binary, { workers: Number(values.workers), keep: values.keep });
}

process.exitCode = await main();
