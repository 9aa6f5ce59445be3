/** In place of `src/host/local-files/append-log.ts`. */
import { type AppendLog, linesOf } from '../../../src/host/local-files/append-log.ts';
import { bytesAt, currentMachine } from './current.ts';

export { linesOf };

export function openAppendLog(path: string): AppendLog {
  const append = (line: string): void =>
    currentMachine().host.put(path, { content: `${new TextDecoder().decode(bytesAt(path))}${line}\n`, mode: 0o600 });
  return { lines: linesOf(bytesAt(path)).lines, append, appendLazily: append, flush() {}, close() {} };
}

export function replaceLog(path: string, firstLine: string, archived: string | undefined): void {
  if (archived !== undefined) archiveLog(path, archived);
  currentMachine().host.put(path, { content: `${firstLine}\n`, mode: 0o600 });
}

export function archiveLog(path: string, archive: string): void {
  const { host } = currentMachine();
  host.put(archive, { content: bytesAt(path), mode: 0o600 });
  host.take(path);
}
