/** Lengths in bytes that the API server takes (k/k …/apiserver/pkg/apis/apiserver/validation/validation_encryption.go). */
const KEY_LENGTHS = { secretbox: [32], aescbc: [16, 24, 32], aesgcm: [16, 24, 32] } as const;

/**
 * What the API server would refuse about an encryption key; undefined = nothing, or the value is not known yet. Never
 * shows the value.
 *
 * @param value base64, as Go's StdEncoding reads it: padded, and without blanks
 */
export function keyProblem(kind: keyof typeof KEY_LENGTHS, value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const lengths = KEY_LENGTHS[kind];
  const wanted = `base64 of ${lengths.join(', ').replace(/, (\d+)$/, ' or $1')} random bytes`;
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value)) return `not base64: ${wanted}`;
  const length = (value.length / 4) * 3 - (value.endsWith('==') ? 2 : value.endsWith('=') ? 1 : 0);
  if (lengths.some((one) => one === length)) return undefined;
  return `a key of ${length} bytes, and ${kind} takes ${wanted}`;
}
