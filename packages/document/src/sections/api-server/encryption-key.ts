/**
 * Key lengths in bytes that the API server accepts (k/k
 * …/apiserver/pkg/apis/apiserver/validation/validation_encryption.go).
 */
const KEY_LENGTHS = { secretbox: [32], aescbc: [16, 24, 32], aesgcm: [16, 24, 32] } as const;

/**
 * Why the API server would refuse an encryption key; undefined = it is valid, or not known yet. Never prints the value.
 *
 * @param value base64 in the format of Go's StdEncoding: padded, and without blanks
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
