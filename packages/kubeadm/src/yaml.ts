import { VERBATIM_TAG } from '@machineadm/document/values/verbatim.ts';
import { Document, visit } from 'yaml';

/**
 * Plain only where no YAML parser can take the text for anything but a string. kubeadm reads with sigs.k8s.io/yaml, which
 * follows YAML 1.1: an unquoted `on`, `012`, `1:30` or `1e3` would not stay a string there.
 */
const SURELY_STRING = /^[A-Za-z/][A-Za-z0-9_./:@=+-]*$/;
/** Booleans and null of YAML 1.1, and `e0`, a number to some of its parsers. */
const NOT_PLAIN = /^(?:y|yes|n|no|true|false|on|off|null|e[-+]?\d+)$/i;

/** Writes documents as one multi-document YAML text; the same input gives the same bytes. */
export function writeYaml(documents: readonly object[]): string {
  return documents.map((document) => `---\n${writeDocument(document)}`).join('');
}

/** Writes one YAML document without a leading `---`. */
export function writeDocument(content: object): string {
  const document = new Document(content, { aliasDuplicateObjects: false, customTags: [VERBATIM_TAG] });
  visit(document, {
    Scalar(_key, scalar) {
      if (typeof scalar.value !== 'string') return;
      const plain = SURELY_STRING.test(scalar.value) && !NOT_PLAIN.test(scalar.value);
      scalar.type = plain ? 'PLAIN' : 'QUOTE_DOUBLE';
    },
  });
  return document.toString({ lineWidth: 0 });
}
