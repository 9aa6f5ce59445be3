import { signalOfStatus } from '../commands/killed.ts';
import type { UnitFacts } from '../seam/services.ts';

/** The properties that `parseUnitFacts` reads. */
export const UNIT_FACT_PROPERTIES = [
  'LoadState',
  'ActiveState',
  'SubState',
  'Result',
  'ExecMainCode',
  'ExecMainStatus',
  'NRestarts',
  'ExecStart',
  'Environment',
  'EnvironmentFiles',
  'MemoryMax',
] as const;

/** Exit status with which systemd's own child reports that execve(2) failed (systemd.exec(5), "EXIT_EXEC"). */
export const EXIT_EXEC = 203;

/** Parses `systemctl show`: one property per line, some repeated. */
export function parseUnitFacts(shown: string): UnitFacts {
  const all = (property: string): readonly string[] =>
    shown
      .split('\n')
      .filter((line) => line.startsWith(`${property}=`))
      .map((line) => line.slice(property.length + 1));
  const one = (property: string): string => all(property)[0] ?? '';
  const memoryMax = one('MemoryMax');
  return {
    loadState: one('LoadState'),
    activeState: one('ActiveState'),
    subState: one('SubState'),
    result: one('Result'),
    ended: endOf(one('ExecMainCode'), Number(one('ExecMainStatus'))),
    restarts: Number(one('NRestarts')) || 0,
    command: argumentsIn(all('ExecStart').at(-1) ?? ''),
    environment: one('Environment'),
    environmentFiles: all('EnvironmentFiles').map((text) => text.replace(/ \(ignore_errors=\w+\)$/, '')),
    memoryMax: /^\d+$/.test(memoryMax) && BigInt(memoryMax) < 2n ** 63n ? Number(memoryMax) : undefined,
  };
}

/** CLD_EXITED, CLD_KILLED and CLD_DUMPED of waitid(2); 0 before any end. */
function endOf(code: string, status: number): UnitFacts['ended'] {
  if (code === '1') return { by: 'exit', status };
  return code === '2' || code === '3' ? { by: 'signal', status } : undefined;
}

/** `{ path=/usr/bin/kubelet ; argv[]=/usr/bin/kubelet $KUBELET_ARGS ; ignore_errors=no ; … }` */
function argumentsIn(execStart: string): readonly string[] {
  const [, argv = ''] = execStart.split(' ; ignore_errors=', 1).join().split('argv[]=', 2);
  return argv.split(' ').filter((argument) => argument !== '');
}

/** SIGKILL for 9. */
export function signalName(number: number): string {
  return signalOfStatus(128 + number) ?? `signal ${number}`;
}

/** `by SIGKILL` for 137, `with exit status 1` for 1. */
export function describeExit(exitCode: number): string {
  const signal = signalOfStatus(exitCode);
  return signal === undefined ? `with exit status ${exitCode}` : `by ${signal}`;
}
