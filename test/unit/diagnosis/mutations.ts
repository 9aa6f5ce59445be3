import type { Transcript } from './transcripts.ts';

/** A way in which a log reaches the diagnosis changed. `text` is the whole log, in sections; the result is, too. */
export interface Mutation {
  readonly what: string;
  /** What may become of the reason: the same, or the same or Unknown where evidence is lost. */
  readonly keeps: 'reason' | 'reason or Unknown';
  apply(log: string, transcript: Transcript): string;
}

const HEADER = /^-- (?:kubeadm|journal: \S+|container: \S+) --$/;
const ESCAPE = String.fromCharCode(27);

/** The sections of a log by their header. */
export function sectionsOf(log: string): readonly { readonly header: string; readonly lines: readonly string[] }[] {
  const sections: { header: string; lines: string[] }[] = [];
  for (const line of log.split('\n')) {
    if (HEADER.test(line)) sections.push({ header: line, lines: [] });
    else sections.at(-1)?.lines.push(line);
  }
  return sections;
}

const only = (log: string, wanted: RegExp): string =>
  sectionsOf(log)
    .filter(({ header }) => wanted.test(header))
    .map(({ header, lines }) => [header, ...lines].join('\n'))
    .join('\n');

const eachLine = (log: string, change: (line: string, index: number) => string): string =>
  log
    .split('\n')
    .map((line, index) => (HEADER.test(line) ? line : change(line, index)))
    .join('\n');

/** kubeadm's part as journald's JSON of cloud-init; the journals as JSON of their units; containers as they are. */
function asJournalJson(log: string): string {
  return sectionsOf(log)
    .flatMap(({ header, lines }) => {
      if (header.startsWith('-- container')) return lines;
      return lines
        .filter((line) => line !== '')
        .map((line) => {
          const entry = /^\w{3} [ \d]\d [\d:]{8} \S+ ([^\s[:]+)(?:\[(\d+)\])?: (.*)$/.exec(line);
          return JSON.stringify({
            __REALTIME_TIMESTAMP: '1795168800000000',
            MESSAGE: entry?.[3] ?? line,
            SYSLOG_IDENTIFIER: entry?.[1] ?? 'cloud-init',
            _PID: entry?.[2] ?? '812',
          });
        });
    })
    .join('\n');
}

export const MUTATIONS: readonly Mutation[] = [
  { what: 'with carriage returns', keeps: 'reason', apply: (log) => log.replaceAll('\n', '\r\n') },
  {
    what: 'in colours',
    keeps: 'reason',
    apply: (log) => eachLine(log, (line) => `${ESCAPE}[0;31m${line}${ESCAPE}[0m`),
  },
  {
    what: 'on another machine',
    keeps: 'reason',
    apply: (log) =>
      log
        .replace(/\blv-\w+\b/g, 'ip-10-0-3-77.eu-central-1.compute.internal')
        .replace(/\b10\.99\.0\.(\d+)\b/g, '192.168.77.$1'),
  },
  {
    what: "on a console, behind cloud-init's prefix",
    keeps: 'reason',
    apply: (log) =>
      sectionsOf(log)
        .map(({ header, lines }) =>
          header === '-- kubeadm --'
            ? lines
                .map((line, index) => `[${(41 + index / 10).toFixed(6).padStart(12)}] cloud-init[812]: ${line}`)
                .join('\n')
            : [header, ...lines].join('\n'),
        )
        .join('\n'),
  },
  {
    what: 'in cloud-init-output.log, between what else cloud-init ran',
    keeps: 'reason',
    apply: (log) =>
      [
        "Cloud-init v. 22.4.2 running 'modules:final' at Fri, 20 Nov 2026 17:30:02 +0000. Up 14.02 seconds.",
        'Get:1 http://mirror.example/debian bookworm InRelease [151 kB]',
        '+ systemctl enable --now containerd',
        log.replace(/^-- kubeadm --\n/, ''),
        '2026-11-20 17:40:11,532 - cc_scripts_user.py[WARNING]: Failed to run module scripts-user (scripts in /var/lib/cloud/instance/scripts)',
        '2026-11-20 17:40:11,533 - util.py[WARNING]: Running module scripts-user (<module>) failed',
        'Cloud-init v. 22.4.2 finished at Fri, 20 Nov 2026 17:40:11 +0000. Datasource DataSourceNoCloud.  Up 623.21 seconds',
      ].join('\n'),
  },
  { what: 'as JSON of the journal', keeps: 'reason', apply: asJournalJson },
  {
    what: 'in one journal, kubeadm run by a unit',
    keeps: 'reason',
    apply: (log) =>
      sectionsOf(log)
        .flatMap(({ header, lines }) =>
          header === '-- kubeadm --' ? lines.map((line) => `Nov 20 17:30:00 lv-1 bootstrap.sh[733]: ${line}`) : lines,
        )
        .join('\n'),
  },
  {
    what: 'with kubeadm and the journals interleaved',
    keeps: 'reason',
    apply: (log) => {
      const sections = sectionsOf(log).map(({ lines }) => [...lines]);
      const mixed: string[] = [];
      while (sections.some((lines) => lines.length > 0)) {
        for (const lines of sections) mixed.push(...lines.splice(0, 3));
      }
      return mixed.join('\n');
    },
  },
  {
    what: 'after an earlier attempt that failed otherwise',
    keeps: 'reason',
    apply: (log) =>
      log.replace(
        /^-- kubeadm --\n/,
        [
          '-- kubeadm --',
          '[preflight] Running pre-flight checks',
          'error execution phase preflight: [preflight] Some fatal errors occurred:',
          '\t[ERROR NumCPU]: the number of available CPUs 1 is less than the required 2',
          '[preflight] If you know what you are doing, you can make a check non-fatal with `--ignore-preflight-errors=...`',
          'To see the stack trace of this error execute with --v=5 or higher',
          '',
        ].join('\n'),
      ),
  },
  {
    what: 'without its first lines',
    keeps: 'reason or Unknown',
    apply: (log) => log.split('\n').slice(6).join('\n'),
  },
  {
    what: 'cut off in the middle',
    keeps: 'reason or Unknown',
    apply: (log) => log.slice(0, Math.floor(log.length / 2)),
  },
  { what: 'without its first half', keeps: 'reason or Unknown', apply: (log) => log.slice(Math.floor(log.length / 2)) },
  { what: 'of kubeadm alone', keeps: 'reason or Unknown', apply: (log) => only(log, /kubeadm/) },
  {
    what: 'of the journals and containers alone',
    keeps: 'reason or Unknown',
    apply: (log) => only(log, /journal|container/),
  },
  { what: 'without the containers', keeps: 'reason or Unknown', apply: (log) => only(log, /kubeadm|journal/) },
];
