import type { Spec } from '../spec/spec.ts';
import { hasMark } from '../texts/jinja.ts';
import type { Source } from '../values/source.ts';
import { nonEmpty } from './components.ts';

/**
 * A name of the node that is none yet (`@@HOSTNAME@@`, `${COREOS_CUSTOM_HOSTNAME}`): commands replace it in kubeadm's file
 * before kubeadm reads it. undefined for a name, an expression of instance data, and where no command edits the file.
 */
export function placeholderName(registration: Source, { beforeCommands }: Spec): string | undefined {
  const name = nonEmpty(registration.get('name'));
  if (name === undefined || hasMark(name) || /^[a-z0-9.-]*$/i.test(name)) return undefined;
  return beforeCommands.some(({ command }) => KUBEADM_FILE.test(command)) ? name : undefined;
}

const KUBEADM_FILE = /\/etc\/kubeadm\.yml|\/run\/kubeadm\//;

/** Writes the placeholder where the commands expect it: the document has no name, so its file has none either. */
export function placeholderCommand(name: string, file: string): string {
  const quoted = name.replace(/[\\&|]/g, '\\$&').replaceAll("'", `'\\''`);
  return `sed -i -e '/^nodeRegistration:$/,/^[^ ]/{/^  name:/d}' -e 's|^nodeRegistration:$|&\\n  name: "${quoted}"|' ${file}`;
}
