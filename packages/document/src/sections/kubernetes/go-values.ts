/** Texts as Go's standard library parses them, for flags and configurations of Kubernetes. */

/** strconv.ParseBool; undefined: refused. */
export function parseBoolean(text: string): boolean | undefined {
  if (/^(?:1|t|T|TRUE|true|True)$/.test(text)) return true;
  return /^(?:0|f|F|FALSE|false|False)$/.test(text) ? false : undefined;
}

/** time.ParseDuration */
export function isDuration(text: string): boolean {
  return /^[-+]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/.test(text);
}

/** strconv.ParseInt with base 0. */
export function isInteger(text: string): boolean {
  return /^[-+]?(?:0|[1-9][\d_]*|0[xX][\da-fA-F_]+|0[oO]?[0-7_]+|0[bB][01_]+)$/.test(text);
}

/** strconv.ParseFloat, without its hexadecimal form. */
export function isNumber(text: string): boolean {
  return /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/.test(text);
}
