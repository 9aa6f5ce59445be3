/**
 * Applies a document's profiles to the inputs of the other steps; the pipeline calls it once, where it loads a
 * document.
 */
export { hardenModel } from '@machineadm/hardening/harden-model.ts';
