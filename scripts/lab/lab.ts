import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { NEWEST_KNOWN_MINOR } from '@machineadm/document/kubernetes-releases/minor.ts';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { scale } from '../quickstart/scale.ts';
import { buildCluster, LAB_DIRECTORY, type Progress, partsOf } from './artefacts.ts';
import { destroyMachines, freeAddress, listMachines, machineNamed, startMachine } from './fleet.ts';
import { exportParts, importParts } from './share.ts';
import { bootVm } from './vm.ts';

const USAGE = `Disposable machines with a real systemd, containerd 1.6 and Kubernetes 1.20.2, on this machine.

  npm run lab -- build [--kubernetes V]   build the inputs of machines (about 10 minutes, then cached);
                                          V: v1.37.x or v1.37.2 from its publishers, or from a mirror of them
                                          (MACHINEADM_LAB_MIRROR); default: 1.20.2 from Debian's sources
  npm run lab -- export FILE.tar.gz       export the built parts for another machine
  npm run lab -- import FILE.tar.gz       import the parts that another machine built
  npm run lab -- up [NAME…]               boot machines (default: cp1); they run until "down" removes them
  npm run lab -- up-openrc NAME…          the same with OpenRC instead of systemd, without Kubernetes
  npm run lab -- list                     names, addresses, state
  npm run lab -- exec NAME COMMAND…       run a command in one
  npm run lab -- copy NAME SOURCE TARGET  put a file into one
  npm run lab -- reboot NAME              reboot one from inside
  npm run lab -- down [NAME…|--all]       remove machines with their disks
  npm run lab -- scale [--control-planes 3] [--workers 5] [--minutes 10] [--seed 1] [--kubernetes V]
                                          join machines to one cluster while random machines lose power
  npm run lab -- vm [--kubernetes V]      boot a node with cgroup v2 on another kernel (MACHINEADM_LAB_KERNEL)
`;

const ROOT = resolve(import.meta.dirname, '../..');
const BINARY = join(ROOT, 'dist/machineadm');
const began = performance.now();
const progress: Progress = (line) => {
  const seconds = ((performance.now() - began) / 1000).toFixed(1).padStart(6);
  process.stderr.write(`${seconds} s  ${line}\n`);
};

/** Runs one subcommand. Returns the exit status. */
async function main(verb: string | undefined, args: readonly string[]): Promise<number> {
  if ([verb, args[0]].some((word) => word === '--help' || word === '-h')) {
    process.stdout.write(USAGE);
    return 0;
  }
  switch (verb) {
    case 'build': {
      const built = await buildCluster(...kubernetesOf(args));
      progress(`the lab is built with Kubernetes ${built.release.version}, in ${LAB_DIRECTORY}`);
      return 0;
    }
    case 'export': {
      const [file, ...rest] = args;
      if (file === undefined) return usage();
      await exportParts(partsOf(await buildCluster(...kubernetesOf(rest))), file);
      progress(`wrote ${file}; import it on another machine with npm run lab -- import ${file}`);
      return 0;
    }
    case 'import': {
      const [file] = args;
      if (file === undefined) return usage();
      const taken = await importParts(LAB_DIRECTORY, file);
      progress(taken.length === 0 ? 'all parts already exist' : `imported: ${taken.join(', ')}`);
      return 0;
    }
    case 'up':
    case 'up-openrc':
      for (const name of args.length === 0 ? ['cp1'] : args) {
        const init = verb === 'up' ? 'systemd' : 'openrc';
        const machine = await startMachine({ name, ip: freeAddress(), init, progress });
        progress(`${name} is up at ${machine.ip}`);
      }
      return 0;
    case 'list':
      for (const machine of listMachines()) {
        process.stdout.write(`${machine.name}\t${machine.ip}\t${machine.isUp() ? 'up' : 'off'}\n`);
      }
      return 0;
    case 'exec': {
      const [name, ...command] = args;
      if (name === undefined || command.length === 0) return usage();
      const { status } = await machineNamed(name).exec(command, {
        timeoutMs: 24 * 3_600_000,
        onOutput: (stream, text) => void process[stream].write(text),
      });
      return status;
    }
    case 'copy': {
      const [name, source, target] = args;
      if (name === undefined || source === undefined || target === undefined) return usage();
      await machineNamed(name).copyIn(source, target);
      return 0;
    }
    case 'reboot': {
      const [name] = args;
      if (name === undefined) return usage();
      await machineNamed(name).reboot();
      progress(`${name} is up again`);
      return 0;
    }
    case 'down': {
      if (args.length === 0) return usage();
      const machines = args.includes('--all') ? listMachines() : args.map(machineNamed);
      await destroyMachines(machines);
      for (const machine of machines) progress(`${machine.name} is removed`);
      return 0;
    }
    case 'scale': {
      const { values } = parseArgs({
        args: [...args],
        options: {
          'control-planes': { type: 'string', default: '3' },
          workers: { type: 'string', default: '5' },
          minutes: { type: 'string', default: '10' },
          seed: { type: 'string', default: '1' },
          kubernetes: { type: 'string' },
        },
      });
      const { kubernetes, ...texts } = values;
      const wrong = Object.entries(texts).find(([, text]) => !/^[0-9]{1,4}$/.test(text));
      if (wrong !== undefined) throw new Error(`--${wrong[0]} ${wrong[1]}: expected a number`);
      if (!/^[35]$/.test(texts['control-planes'])) throw new Error('--control-planes: expected 3 or 5');
      if (!build()) return 1;
      const [workers, minutes, seed] = [texts.workers, texts.minutes, texts.seed].map(Number) as [
        number,
        number,
        number,
      ];
      const asked = { controlPlanes: Number(texts['control-planes']), workers, minutes, seed, kubernetes };
      return await scale(BINARY, asked, progress);
    }
    case 'vm': {
      const { values } = parseArgs({
        args: [...args],
        options: { kubernetes: { type: 'string', default: `v1.${NEWEST_KNOWN_MINOR}` } },
      });
      if (!build()) return 1;
      return await bootVm({ binary: BINARY, kernel: process.env.MACHINEADM_LAB_KERNEL, ...values }, progress);
    }
    default:
      return usage();
  }
}

/** Builds the binary. Returns whether it was built. */
function build(): boolean {
  return spawnSync(process.execPath, [join(ROOT, 'scripts/build.ts')], { stdio: 'inherit' }).status === 0;
}

/** The release in `--kubernetes`; default: the one that is built from Debian's sources. */
function kubernetesOf(args: readonly string[]): Parameters<typeof buildCluster> {
  const { values } = parseArgs({ args: [...args], options: { kubernetes: { type: 'string', default: 'debian' } } });
  return [values.kubernetes, progress];
}

function usage(): number {
  process.stderr.write(USAGE);
  return 2;
}

try {
  const [verb, ...args] = process.argv.slice(2);
  process.exitCode = await main(verb, args);
} catch (error) {
  process.stderr.write(`lab: ${errorMessage(error)}\n`);
  process.exitCode = 1;
}
