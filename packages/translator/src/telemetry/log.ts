/** Levels of the log, by the names that log collectors know. */
export type Level = 'info' | 'warn' | 'error';

/** Writes one line: a message and its fields. Never pass a value of a Secret. */
export type Log = (level: Level, message: string, fields?: Readonly<Record<string, unknown>>) => void;

/** A log that writes one JSON object per line. */
export function jsonLog(write: (line: string) => void): Log {
  return (level, message, fields = {}) => {
    write(`${JSON.stringify({ time: new Date().toISOString(), level, message, ...fields })}\n`);
  };
}

/** The message of an error and of what caused it, without a stack. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${errorText(error.cause)}`;
}
