import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';

/** What `kubeadm upgrade diff --context-lines 100000` prints of a static pod; nothing where kubeadm would write the same. */
export function kubeadmDiff(path: string, now: string, written: string): string {
  if (now === written) return '';
  const context = { context: 100_000, headerOptions: FILE_HEADERS_ONLY };
  return createTwoFilesPatch(path, 'new manifest', now, written, undefined, undefined, context);
}
