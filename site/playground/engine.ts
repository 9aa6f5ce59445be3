import { convert, type Options } from '@machineadm/convert/library.ts';
import { type Problem, validateDocument } from '@machineadm/document/library.ts';
import { renderKubeadmConfig } from '@machineadm/kubeadm/library.ts';
import { type WrapOptions, wrap } from '@machineadm/user-data/library.ts';
import { InputPlaces, type TextPlace } from './places.ts';

/** What the playground does with a text: the functions of the library, which run in this page. */

/** The most important first. */
const SEVERITIES = ['error', 'decision', 'warning', 'note'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** A problem of a document, or a decision of the converter, at its place in the text. */
export interface Finding extends TextPlace {
  readonly severity: Severity;
  readonly code: string;
  /** The path in the text, and for a conversion the object. */
  readonly path: string;
  readonly message: string;
  readonly hint?: string;
}

export interface PlaygroundDocument {
  readonly title: string;
  readonly yaml: string;
  readonly findings: readonly Finding[];
}

export interface Evaluation {
  readonly kind: 'document' | 'conversion';
  /** About the text that was given. */
  readonly findings: readonly Finding[];
  /** The text itself where it is a valid document; those that a conversion wrote. */
  readonly documents: readonly PlaygroundDocument[];
}

/** A text of the output, or why there is none. */
export interface Output {
  readonly text: string;
  readonly remarks: readonly string[];
  readonly problems: readonly string[];
}

export type Format = WrapOptions['format'];

const INPUT = 'input';

/** Validates a document; converts everything else. Never throws because of the text. */
export async function evaluate(text: string, agentVersion: string, options: Options): Promise<Evaluation> {
  if (isDocument(text)) {
    const findings = await validated(text, agentVersion);
    const isValid = findings.every(({ severity }) => severity !== 'error');
    return { kind: 'document', findings, documents: isValid ? [{ title: 'document', yaml: text, findings }] : [] };
  }
  const { documents, decisions } = await convert([{ name: INPUT, text }], options);
  const places = new InputPlaces(INPUT, text);
  return {
    kind: 'conversion',
    findings: decisions
      .map(({ code, severity, at: path, message }) => ({ severity, code, path, message, ...places.find(path) }))
      .sort((a, b) => a.line - b.line || SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity)),
    documents: await Promise.all(
      documents.map(async ({ name, role, yaml }) => {
        const title = role === undefined ? name : `${name} (${role})`;
        return { title, yaml, findings: await validated(yaml, agentVersion) };
      }),
    ),
  };
}

/** A document of machineadm, in YAML or JSON, also one with mistakes. */
export function isDocument(text: string): boolean {
  return (
    /^(?:kind:[ \t]*["']?MachineBootstrap\b|apiVersion:[ \t]*["']?machineadm\.dev\/)/m.test(text) ||
    /^\s*\{[\s\S]*"(?:kind"\s*:\s*"MachineBootstrap"|apiVersion"\s*:\s*"machineadm\.dev\/)/.test(text)
  );
}

async function validated(yaml: string, agentVersion: string): Promise<readonly Finding[]> {
  const found = await validateDocument(yaml, { agentVersion });
  return found.valid ? found.warnings.map(findingOf('warning')) : found.problems.map(findingOf('error'));
}

function findingOf(severity: Severity) {
  return ({ code, line, column, path, message, hint }: Problem): Finding => {
    return { severity, code, line, column, path, message, ...(hint === undefined ? {} : { hint }) };
  };
}

/** kubeadm's configuration for a document. Without a version, for that of the document. */
export async function kubeadmOutput(yaml: string, agentVersion: string, kubeadmVersion?: string): Promise<Output> {
  const options = kubeadmVersion === undefined ? { agentVersion } : { agentVersion, kubeadmVersion };
  const rendered = await renderKubeadmConfig(yaml, options);
  if (!rendered.valid) return refused(rendered.problems);
  const { command, config, flags, files, unresolved } = rendered;
  const remarks = [`kubeadm ${[command, '--config FILE', ...flags].join(' ')}`];
  if (unresolved.length > 0) remarks.push(`Only the machine knows: ${unresolved.join(', ')}`);
  const others = files.map(({ path, content }) => `# ${path}\n${content}`);
  return { text: [config, ...others].join('\n'), remarks, problems: [] };
}

/** User data with the document. */
export async function userDataOutput(
  yaml: string,
  agentVersion: string,
  format: Format,
  profile?: string,
): Promise<Output> {
  const wrapped = await wrap(yaml, { agentVersion, format, ...(profile === undefined ? {} : { profile }) });
  if (!wrapped.valid) return refused(wrapped.problems);
  const { userData, secrets, notes } = wrapped;
  const remarks = secrets.length === 0 ? notes : [`Secrets in clear text: ${secrets.join(', ')}`, ...notes];
  return { text: userData, remarks, problems: [] };
}

function refused(problems: readonly Problem[]): Output {
  const lines = problems.map(({ message, hint }) => (hint === undefined ? message : `${message} (${hint})`));
  return { text: '', remarks: [], problems: lines };
}
