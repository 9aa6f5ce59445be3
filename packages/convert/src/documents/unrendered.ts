import { formatPath, type PathSegment, printableKey } from '@machineadm/document/diagnostics/index.ts';
import type { InputObject } from '../inputs/input.ts';
import type { Report } from '../report/report.ts';
import { isMap } from '../values/map.ts';

/** A variable of clusterctl, Flux or envsubst (github.com/drone/envsubst): `${NAME}`, `${NAME:=default}`. */
const PLACEHOLDER = /\$\{([A-Za-z_]\w{0,100})(?::?[-=+?/^,][^{}$\n]{0,200})?\}/;

/** Texts of a shell, or for one: a variable in them is theirs. */
const SHELL_TEXTS = new Set([
  'preKubeadmCommands',
  'postKubeadmCommands',
  'bootCommands',
  'files',
  'additionalConfig',
  'annotations',
  'managedFields',
]);

/**
 * Reports placeholders of a template that nobody has filled in: names and values that the API server would never have. A
 * variable that the commands replace in kubeadm's file, as on Flatcar, is none.
 */
export function reportUnrendered({ value, title }: InputObject, report: Report): void {
  const found: { readonly name: string; readonly path: readonly PathSegment[] }[] = [];
  const shell: string[] = [];
  const visit = (part: unknown, path: readonly PathSegment[], isShell: boolean): void => {
    if (typeof part === 'string') {
      if (isShell) shell.push(part);
      else {
        const name = PLACEHOLDER.exec(part)?.[1];
        if (name !== undefined) found.push({ name, path });
      }
    } else if (Array.isArray(part)) for (const [index, item] of part.entries()) visit(item, [...path, index], isShell);
    else if (isMap(part)) {
      for (const [key, item] of Object.entries(part)) {
        visit(item, [...path, printableKey(key)], isShell || SHELL_TEXTS.has(key));
      }
    }
  };
  visit(value, [], false);
  const replaces = shell.some((text) => text.includes('envsubst'));
  for (const { name, path } of found) {
    // Afterburn's variables, for envsubst on the machine.
    if (replaces || name.startsWith('COREOS_') || shell.some((text) => text.includes(name) && /\bsed\b/.test(text)))
      continue;
    report.add('TemplateUnrendered', `${title}: ${formatPath(path)}`, `\${${name}}: render the template first`);
  }
}
