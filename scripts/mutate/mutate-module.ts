/**
 * Loaded before the tests (`--import`): gives one module of the project with one change, in memory. No file is written, so
 * that nothing is left of a mutant, however its process ends.
 */
import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { pathToFileURL } from 'node:url';

const { MACHINEADM_MUTANT = '' } = process.env;
if (MACHINEADM_MUTANT !== '') {
  const mutant: { path: string; start: number; end: number; replacement: string } = JSON.parse(MACHINEADM_MUTANT);
  const url = pathToFileURL(mutant.path).href;
  registerHooks({
    load(wanted, context, nextLoad) {
      if (wanted !== url) return nextLoad(wanted, context);
      const text = readFileSync(mutant.path, 'utf8');
      const changed = text.slice(0, mutant.start) + mutant.replacement + text.slice(mutant.end);
      return { format: 'module', source: stripTypeScriptTypes(changed, { mode: 'strip' }), shortCircuit: true };
    },
  });
}
