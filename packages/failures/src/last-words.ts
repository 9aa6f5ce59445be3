/** What comes before the message in an error that a program ends with: it says only that the program ends. */
const OPENING = /^(?:command failed|[Ff]ailed to run [Kk]ubelet|[Ee]rror|[Ee]xiting|panic|containerd)(?:: | )/;
const MOST_OPENINGS = 4;

/**
 * The message of an error line without its format: klog, klog's JSON, zap, logrus, the log of etcd before 3.5, Go's
 * panic. The text of a format that is not known is returned as it is.
 */
export function lastWords(line: string): string {
  let words = (ofJson(line) ?? ofKlog(line) ?? ofLogrus(line) ?? ofCapnslog(line) ?? line).replace(/\s+/g, ' ');
  for (let opening = 0; opening < MOST_OPENINGS; opening += 1) words = words.replace(OPENING, '');
  return words.trim();
}

function ofJson(line: string): string | undefined {
  const start = line.indexOf('{"');
  if (start < 0 || !line.endsWith('}')) return undefined;
  let entry: unknown;
  try {
    entry = JSON.parse(line.slice(start));
  } catch {
    return undefined;
  }
  if (typeof entry !== 'object' || entry === null) return undefined;
  const fields = new Map<string, unknown>(Object.entries(entry));
  return joined([fields.get('msg'), fields.get('error') ?? fields.get('err')]);
}

/** `E1128 01:04:42.966583     254 run.go:72] "command failed" err="…" key=value` */
function ofKlog(line: string): string | undefined {
  const body = /^[EFW]\d{4} [\d:.]{8,15} {1,10}\d+ [\w.-]+:\d+\] /.exec(line);
  const text = body === null ? line : line.slice(body[0].length);
  if (body === null && !text.startsWith('"')) return undefined;
  const [message, rest] = quoted(text) ?? [undefined, text];
  if (message === undefined) return text;
  const at = rest.indexOf('err=');
  const error = at < 0 ? undefined : (quoted(rest.slice(at + 'err='.length))?.[0] ?? rest.slice(at + 'err='.length));
  return joined([message, error]);
}

/** `time="…" level=error msg="…" error="…"` */
function ofLogrus(line: string): string | undefined {
  const at = line.indexOf(' msg=');
  if (at < 0 || !/level=\w+ /.test(line)) return undefined;
  const [message, rest] = quoted(line.slice(at + ' msg='.length)) ?? [line.slice(at + ' msg='.length), ''];
  const error = rest.indexOf(' error=');
  return joined([message, error < 0 ? undefined : quoted(rest.slice(error + ' error='.length))?.[0]]);
}

/** `2026-11-22 15:34:58.046358 C | etcdmain: …` */
function ofCapnslog(line: string): string | undefined {
  const found = /^[\d-]{10} [\d:.]{8,15} [CFE] \| (?:[\w/]{1,40}: )?/.exec(line);
  return found === null ? undefined : line.slice(found[0].length);
}

/** A text in Go's quotes (strconv.Quote) at the beginning, and what follows it. */
function quoted(text: string): readonly [string, string] | undefined {
  const found = /^"(?:[^"\\]|\\.)*"/.exec(text)?.[0];
  if (found === undefined) return undefined;
  return [unquoted(found), text.slice(found.length)];
}

function unquoted(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'string') return value;
  } catch {
    // Go's \x and \a are not those of JSON.
  }
  return text.slice(1, -1).replaceAll('\\"', '"').replaceAll('\\n', ' ');
}

function joined(parts: readonly unknown[]): string | undefined {
  const texts = parts.filter((part): part is string => typeof part === 'string' && part !== '');
  return texts.length === 0 ? undefined : texts.join(': ');
}
