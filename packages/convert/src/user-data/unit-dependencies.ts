import { hookReasonLine } from '@machineadm/document/outcomes/hook-reasons.ts';
import type { Placed } from '../report/report.ts';
import type { CommandSpec } from '../spec/spec.ts';
import type { UnitSetting } from './unit-file.ts';

/**
 * What the drop-ins of kubeadm.service say about what its script runs after and with. systemd would see to it; here the
 * first of the commands does, because by then all that machineadm itself needs has happened.
 */
export interface UnitDependencies {
  readonly settings: readonly UnitSetting[];
  readonly at: Placed;
}

/** Flatcar's coreos-metadata.service asks a metadata service, which may take its time. */
const PATIENCE_SECONDS = 300;

/** The command that waits for the units, and exports the variables of the files; none where there are neither. */
export function dependenciesCommand(dropIns: readonly UnitDependencies[]): readonly CommandSpec[] {
  const [first] = dropIns;
  const values = (...keys: readonly string[]): string[] => [
    ...new Set(
      dropIns
        .flatMap(({ settings }) => settings)
        .flatMap(({ key, value }) => (keys.includes(key) ? value.split(/\s+/) : []))
        .filter((word) => /^-?[\w@.:/\\*?-]+$/.test(word) && !/\.target$/.test(word)),
    ),
  ];
  const required = values('Requires', 'BindsTo', 'Requisite');
  const wanted = values('Wants');
  const after = values('After').filter((unit) => !required.includes(unit) && !wanted.includes(unit));
  const lines = [
    ...(required.length === 0 ? [] : [startCommand(required)]),
    ...(wanted.length === 0 ? [] : [`timeout ${PATIENCE_SECONDS} systemctl start ${wanted.join(' ')} || :`]),
    ...after.map(waitCommand),
    ...values('EnvironmentFile').map(exportCommand),
  ];
  return first === undefined || lines.length === 0 ? [] : [{ command: lines.join('\n'), at: first.at }];
}

/** Requires= */
function startCommand(units: readonly string[]): string {
  const names = units.join(' ');
  const text = `kubeadm.service requires ${names}, which did not start within ${PATIENCE_SECONDS} seconds`;
  const message = hookReasonLine('RequiredUnitNotStarted', text);
  return `timeout ${PATIENCE_SECONDS} systemctl start ${names} || { echo '${message}' >&2; exit 1; }`;
}

/** After= is about units that are being started. */
function waitCommand(unit: string): string {
  const isStarting = `[ "$(systemctl is-active ${unit})" = activating ]`;
  return `for second in $(seq ${PATIENCE_SECONDS}); do ${isStarting} || break; sleep 1; done`;
}

/**
 * EnvironmentFile= of systemd.exec(5), exported: a pattern of files that are no scripts, for their values may hold blanks
 * without quotes. A "-" before the path allows that there is none.
 */
function exportCommand(pattern: string): string {
  const path = pattern.replace(/^-/, '');
  const text = `the environment file ${path} of kubeadm.service does not exist`;
  const message = hookReasonLine('EnvironmentFileMissing', text);
  const absent = pattern.startsWith('-') ? 'continue' : `{ echo '${message}' >&2; exit 1; }`;
  return `for file in ${path}; do
  [ -r "$file" ] || ${absent}
  while IFS= read -r line || [ -n "$line" ]; do
    [[ $line =~ ^[A-Za-z_][A-Za-z0-9_]*= ]] || continue
    value=\${line#*=}
    case $value in \\"*\\" | \\'*\\') value=\${value:1:\${#value}-2} ;; esac
    export "\${line%%=*}=$value"
  done <"$file"
done
unset file line value`;
}
