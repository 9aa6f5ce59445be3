import { v1alpha1 } from './v1alpha1/index.ts';
import type { DocumentVersion } from './version.ts';

/** Every document version this agent reads, newest last: those of `API_VERSIONS`. */
export const DOCUMENT_VERSIONS: readonly DocumentVersion[] = [v1alpha1];
