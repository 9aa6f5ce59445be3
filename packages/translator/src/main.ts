import { dirname, join } from 'node:path';
import { connect } from './cluster/api.ts';
import { conversionPool } from './conversions/pool.ts';
import { readCommandLine } from './service/configuration.ts';
import { startService } from './service/service.ts';
import { errorText, jsonLog } from './telemetry/log.ts';
import { VERSION } from './version.ts';

/** The bundle of `worker/main.ts`, beside this program. */
const CONVERSIONS = 'conversions.cjs';

/** The program of the container image: the bootstrap translator (docs/cluster-api.md). */
async function main(): Promise<number> {
  const line = readCommandLine(process.argv.slice(2), process.env, VERSION);
  if (line.kind === 'print') {
    process.stdout.write(line.text);
    return 0;
  }
  if (line.kind === 'usage') {
    process.stderr.write(`machineadm-translator: ${line.message}\nSee machineadm-translator --help.\n`);
    return 2;
  }
  const log = jsonLog((text) => process.stdout.write(text));
  const stopping = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort());
  const stopped = new Promise<void>((resolve) => stopping.signal.addEventListener('abort', () => resolve()));
  try {
    const { configuration } = line;
    const api = connect(configuration.kubeconfig);
    const { workers, budgetMs } = configuration;
    const conversions = conversionPool({
      program: join(dirname(process.argv[1] ?? ''), CONVERSIONS),
      workers,
      budgetMs,
    });
    const service = await startService(configuration, api, VERSION, log, stopping.signal, conversions);
    await stopped;
    await service?.stop();
    return 0;
  } catch (error) {
    log('error', 'cannot run', { error: errorText(error) });
    return 1;
  }
}

// The process ends once its last connection to the API server is idle, within seconds.
void main().then((status) => {
  process.exitCode = status;
});
