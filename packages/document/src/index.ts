/**
 * The document: what a user writes, and the internal model that the rest of the agent works with. This room imports
 * nothing of ours and nothing that only Node has: it also runs in a browser or a controller.
 *
 * The way of a document: decode (gzip, base64) -> parse with places -> merge the sources -> check header and `requires`
 * -> check every section -> check across fields -> convert to the model.
 */
export { type Diagnostic, diagnosticRecord, formatDiagnostic, formatWarning, type Place } from './diagnostics/index.ts';
export {
  type DocumentSource,
  type LoadedDocument,
  type LoadOptions,
  type LoadResult,
  loadDocument,
} from './loading/load.ts';
export type { Model, Role } from './model/index.ts';
export { MachineadmError } from './outcomes/errors.ts';
export { leaves } from './trees/tree.ts';
export { exampleDocument } from './versions/example.ts';
export { DOCUMENT_VERSIONS } from './versions/index.ts';
