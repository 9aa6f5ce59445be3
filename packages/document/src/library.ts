/**
 * The public module `machineadm/document`. It runs wherever web APIs exist: in a browser, a controller, an editor. Its
 * types refer to no internal type, so that they stay stable. Each export has its own file: bundlers leave out unused
 * ones.
 */
export type { MachineBootstrap } from '../../../contract/types/v1alpha1.d.ts';
export { apiVersions } from './library/api-versions.ts';
export { example } from './library/example.ts';
export { jsonSchema } from './library/json-schema.ts';
export { type Validation, validateDocument } from './library/validate.ts';
export type { Problem, Source } from './loading/problem.ts';
