import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Query } from '../seam/host.ts';
import { isQuery } from '../seam/queries.ts';
import { matches, type QueryForm } from '../seam/query-form.ts';
import { READ_DOMAIN, TEST_SECURE_CHANNEL } from './domain-scripts.ts';
import { READ_FACTS } from './facts-scripts.ts';
import type { WindowsScript } from './powershell.ts';
import { READ_SECURITY } from './security-scripts.ts';
import { SERVICE_EVENTS, SERVICE_STATE } from './service-scripts.ts';
import { READ_AUTHORITIES, READ_ENVIRONMENT, READ_TIME } from './system-scripts.ts';

const DOMAIN = '[A-Za-z0-9][A-Za-z0-9.-]*';

/** Kubernetes' programs have the same query forms as on Linux. */
const SAME_AS_ON_LINUX: readonly string[] = ['containerd', 'kubeadm', 'kubelet', 'ctr'];

/**
 * The allowlist for Windows. Its programs take options as `/name:value`, so each is listed completely. Each entry
 * states why it changes nothing where that is not obvious.
 */
const QUERIES: Readonly<Record<string, readonly QueryForm[]>> = {
  // nltest: /dsgetdc finds a domain controller; /sc_query prints the last state of the channel. /sc_verify may recreate
  // a broken channel, and /sc_reset always does: both are not queries.
  'nltest.exe': [
    { operands: { pattern: new RegExp(`^(/dsgetdc:${DOMAIN}|/force|/sc_query:${DOMAIN}|/query)$`), min: 1, max: 2 } },
  ],
  // w32tm: /query queries the service, /stripchart sends one query to a server (learn.microsoft.com, w32tm).
  'w32tm.exe': [
    { words: ['/query'], operands: { pattern: /^\/(status|peers|configuration|source|verbose)$/, min: 1, max: 2 } },
    {
      words: ['/stripchart'],
      operands: { pattern: /^\/(computer:[A-Za-z0-9.:-]+|samples:\d+|dataonly|packetinfo)$/, min: 2, max: 4 },
    },
  ],
  // schtasks: /Query lists; the name is a separate argument.
  'schtasks.exe': [{ words: ['/Query'], operands: { pattern: /^(\/TN|\/XML|\/FO|LIST|CSV|\\[A-Za-z0-9_\\-]+)$/ } }],
  // wevtutil: qe reads events. An export (epl) writes a file.
  'wevtutil.exe': [
    {
      words: ['qe'],
      operands: {
        pattern: /^([A-Za-z0-9][A-Za-z0-9 /_-]*|\/q:.*|\/c:\d+|\/rd:(true|false)|\/f:(text|xml|renderedxml))$/i,
        min: 1,
      },
    },
  ],
};

/** The scripts that `plan` may run. */
const SCRIPTS: readonly WindowsScript[] = [
  READ_FACTS,
  READ_SECURITY,
  SERVICE_STATE,
  SERVICE_EVENTS,
  READ_DOMAIN,
  TEST_SECURE_CHANNEL,
  READ_TIME,
  READ_ENVIRONMENT,
  READ_AUTHORITIES,
];

/** True when this program with these arguments is on the allowlist of commands that change nothing on Windows. */
export function isWindowsQuery(program: string, args: readonly string[]): boolean {
  if (program === 'powershell.exe') {
    return SCRIPTS.some((script) => script.reads && JSON.stringify(script.args) === JSON.stringify(args));
  }
  const name = program.replace(/\.exe$/, '');
  if (SAME_AS_ON_LINUX.includes(name)) return isQuery(name, args);
  if (!Object.hasOwn(QUERIES, program)) return false;
  return (QUERIES[program] ?? []).some((form) => matches(form, args));
}

/** Refuses a command that is not on the allowlist. Throws `InternalError`: no document can cause it. */
export function assertWindowsQuery(query: Query): void {
  if (isWindowsQuery(query.program, query.args)) return;
  throw new MachineadmError({
    reason: 'InternalError',
    summary: `${query.program} was called with arguments that are not on the list of read-only queries of Windows`,
    remedy: 'This is a defect in machineadm; please report it with the support bundle.',
  });
}
