/** A part of user data. */
export interface Part {
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

/** User data of several parts (MIME multipart), with these line ends. */
export function message(parts: readonly Part[], end = '\n'): string {
  const lines = ['MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary="==B=="', ''];
  for (const { type, headers = {}, body } of parts) {
    lines.push('--==B==', ...(type === undefined ? [] : [`Content-Type: ${type}; charset="utf-8"`]));
    lines.push(...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '', body);
  }
  return [...lines, '--==B==--', ''].join(end);
}
