import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

export type ToolFault = 'is not installed' | 'hangs' | 'fails' | 'dies at half';

/** vmware-rpctool of a throw-away machine: it has what it was told in a directory of its own, one file a variable. */
export interface Rpctool extends Disposable {
  /** Every value of `guestinfo.machineadm.event`, in the order in which it was set. */
  readonly values: () => readonly string[];
  readonly fail: (fault: ToolFault | undefined) => void;
}

const PROGRAM = '/usr/local/bin/vmware-rpctool';
const VALUES = '/run/guestinfo-values';

/** As open-vm-tools has it: one argument, `info-set KEY VALUE`, and no message above 64 KiB. */
const TOOL = `#!/bin/sh
[ $# -eq 1 ] && [ "$(printf %s "$1" | wc -c)" -le 65536 ] || { echo "Failed to send message" >&2; exit 1; }
case "$1" in
  "info-set guestinfo.machineadm.event "*) printf '%s\\n' "\${1#info-set guestinfo.machineadm.event }" >> ${VALUES} ;;
  "info-set guestinfo.vmservice.bootstrap.condition "*) ;;
  *) echo "Unknown command" >&2; exit 1 ;;
esac
`;

const FAULTY: Readonly<Record<Exclude<ToolFault, 'is not installed'>, string>> = {
  hangs: '#!/bin/sh\nexec sleep 60\n',
  fails: '#!/bin/sh\necho "Failed to send message" >&2\nexit 1\n',
  'dies at half': '#!/bin/sh\nkill -9 $$\n',
};

export function installRpctool(): Rpctool {
  const fail = (fault: ToolFault | undefined): void => {
    if (fault === 'is not installed') {
      rmSync(PROGRAM, { force: true });
      return;
    }
    writeFileSync(PROGRAM, fault === undefined ? TOOL : FAULTY[fault]);
    chmodSync(PROGRAM, 0o755);
  };
  rmSync(VALUES, { force: true });
  fail(undefined);
  return {
    values: () =>
      existsSync(VALUES)
        ? readFileSync(VALUES, 'utf8')
            .split('\n')
            .filter((line) => line !== '')
        : [],
    fail,
    [Symbol.dispose]: () => rmSync(PROGRAM, { force: true }),
  };
}
