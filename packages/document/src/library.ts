/**
 * The document for programs of others: `import … from 'machineadm/document'`. It runs wherever the web's own interfaces are: in a
 * browser, a controller, an editor. Its types name nothing of another package, and stay when the inside changes. Each
 * export has a file of its own: a bundler leaves out what is not imported.
 */
export type { MachineBootstrap } from '../../../contract/types/v1alpha1.d.ts';
export { apiVersions } from './library/api-versions.ts';
export { example } from './library/example.ts';
export { jsonSchema } from './library/json-schema.ts';
export type { Problem, Source } from './library/problem.ts';
export { type Validation, validateDocument } from './library/validate.ts';
