/**
 * From a clone to a working cluster: `npm run quickstart`. As root on Debian, it bootstraps a real control plane in a
 * disposable lab machine, joins `--workers N` machines, and shows the response of a pod. `--control-planes 3` uses three
 * behind a load balancer, and shows that the cluster survives the loss of one. With `--light`, and on other systems, it
 * shows only the host configuration, in seconds. `--kubernetes v1.37.x` downloads that release, `--kubernetes debian` builds
 * 1.20.2; default: the newest release if its server responds. `--keep` keeps the machines.
 */
import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { readOptions } from './options.ts';
import { labObstacle, labQuickstart } from './quickstart/lab.ts';
import { lightQuickstart } from './quickstart/light.ts';

async function main(): Promise<number> {
  const { values } = readOptions(import.meta.filename, {
    options: {
      light: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      kubernetes: { type: 'string' },
      'control-planes': { type: 'string', default: '1' },
      workers: { type: 'string', default: '0' },
    },
  });
  if (!/^[0-9]$/.test(values.workers)) {
    console.error(`quickstart: --workers ${values.workers}: expected a number from 0 to 9`);
    return 2;
  }
  if (!/^[135]$/.test(values['control-planes'])) {
    console.error(`quickstart: --control-planes ${values['control-planes']}: expected 1, 3 or 5`);
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
  const { keep, kubernetes } = values;
  const [controlPlanes, workers] = [Number(values['control-planes']), Number(values.workers)];
  return labQuickstart(binary, { controlPlanes, workers, kubernetes, keep });
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`quickstart: ${errorMessage(error)}`);
  process.exitCode = 1;
}
