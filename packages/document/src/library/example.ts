import { exampleDocument } from '../versions/example.ts';

/** An annotated document to start from, valid as it is. */
export function example(role: 'InitControlPlane' | 'JoinControlPlane' | 'Worker'): string {
  return exampleDocument(role);
}
