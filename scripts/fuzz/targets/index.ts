import type { FuzzTarget } from '../target.ts';
import { documentJson, documentYaml, merge, variables } from './document.ts';
import { convertedYaml, log, templates, toml } from './texts.ts';

/** Every parser that bytes from outside reach. A new one needs a line here and its seeds beside it. */
export const TARGETS: readonly FuzzTarget[] = [
  documentYaml,
  documentJson,
  merge,
  variables,
  templates,
  convertedYaml,
  toml,
  log,
];
