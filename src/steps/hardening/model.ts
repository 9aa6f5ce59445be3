/** What a document's profiles make of the other steps' orders; the pipeline applies it once, where it loads a document. */
export { hardenModel } from '../../kubernetes/hardening/harden-model.ts';
