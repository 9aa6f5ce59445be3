import type { ProblemCode } from '@machineadm/document/diagnostics/index.ts';

/** Marks the reported position of the problem in a text. */
export const MARK = '¦';

export interface Source {
  readonly name: string;
  /** undefined for a valid document. */
  readonly code?: ProblemCode;
  /** The document, or its part after the header. */
  readonly text: string;
  /** Whether a JSON Schema can check it. */
  readonly judgeable: boolean;
}

export const valid = (name: string, text: string): Source => ({ name, text, judgeable: true });

export const invalid = (name: string, code: ProblemCode, text: string): Source => ({
  name,
  code,
  text,
  judgeable: true,
});

/** Invalid by a rule that a JSON Schema cannot check, for example one about another part of the document. */
export const beyond = (name: string, code: ProblemCode, text: string): Source => ({
  name,
  code,
  text,
  judgeable: false,
});

export const PEM = '"-----BEGIN CERTIFICATE-----\\nMIIB\\n-----END CERTIFICATE-----\\n"';
export const DIGEST = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';
export const TOKEN = 'abcdef.0123456789abcdef';
export const JOIN = `join: {discovery: {token: {token: ${TOKEN}, endpoint: "10.0.0.10:6443", caCertHashes: ["sha256:${DIGEST}"]}}}`;

export const init = (more: string): string => `kubernetes: {version: v1.35.2, role: InitControlPlane, ${more}}`;
export const worker = (more: string): string => `kubernetes: {version: v1.35.2, role: Worker, ${more}}`;
export const joining = (more: string): string => `kubernetes: {version: v1.35.2, role: JoinControlPlane, ${more}}`;
