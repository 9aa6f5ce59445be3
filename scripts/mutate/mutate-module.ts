/**
 * Preloaded before the tests (`--import`): replaces one module with a mutant, or adds probes to all modules, in memory. It
 * writes no file, so that no mutant remains if the process is killed.
 */
import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const { MACHINEADM_MUTANT = '', MACHINEADM_RAN = '' } = process.env;
if (MACHINEADM_MUTANT !== '') {
  const mutant: { path: string; start: number; end: number; replacement: string } = JSON.parse(MACHINEADM_MUTANT);
  const url = pathToFileURL(mutant.path).href;
  registerHooks({
    load(wanted, context, nextLoad) {
      // A test may have a second copy of a module, under a name with a query.
      if (wanted.replace(/\?.*$/, '') !== url) return nextLoad(wanted, context);
      const text = readFileSync(mutant.path, 'utf8');
      const changed = text.slice(0, mutant.start) + mutant.replacement + text.slice(mutant.end);
      return { format: 'module', source: stripTypeScriptTypes(changed, { mode: 'strip' }), shortCircuit: true };
    },
  });
}
if (MACHINEADM_RAN !== '') {
  const root = resolve(import.meta.dirname, '../..');
  const { withProbes } = await import('./blocks.ts');
  registerHooks({
    load(wanted, context, nextLoad) {
      const file = wanted.startsWith('file://') ? relative(root, fileURLToPath(wanted)) : '';
      if (!/^(?:src|packages\/[^/]+\/src)\/.*\.ts$/.test(file)) return nextLoad(wanted, context);
      const source = withProbes(file, readFileSync(fileURLToPath(wanted), 'utf8'));
      return { format: 'module', source, shortCircuit: true };
    },
  });
}
