import { exitCode } from '@machineadm/document/exit-codes.ts';
import { type Command, Option } from 'commander';
import type { CommandTable } from './command-tree.ts';
import { endDespiteConnections } from './lingering.ts';
import {
  addDocuments,
  type DocumentOptions,
  formerly,
  insecureDocumentOption,
  outputOption,
  sinkOption,
  timeoutOption,
} from './options.ts';
import type { ReportFlushOptions } from './report.ts';
import type { WatchOptions } from './report-watch.ts';

/** What is sent to remote sinks. */
export const REPORT_COMMANDS: CommandTable = { report: addReport };

function addReport(program: Command, concluded: (status: number) => void): void {
  const done = (status: number): void => {
    concluded(status);
    endDespiteConnections();
  };
  const report = program
    .command('report')
    .description('send events to the sinks of a document: those that wait, or a test')
    .addHelpText('after', '\nExample:\n  machineadm report test -f bootstrap.yaml');
  const flush = report
    .command('flush')
    .description('send the reports that could not be sent yet (run after each run, and by a timer)')
    .addOption(insecureDocumentOption())
    .addOption(outputOption())
    .addOption(timeoutOption('the attempts').default('30s'))
    .addOption(formerly('--within <duration>', 'timeout'))
    .option('--linger <duration>', 'how long after that to make each try that falls due', '0s');
  addDocuments(flush)
    .addHelpText(
      'after',
      `\nExits with ${exitCode('DifferencesFound')} while a report waits, and when one was lost. With -f the sinks are those of the document, where it has one of\nthe name: after a reboot a secret that is written into the document is known from there only.\n\nExample:\n  machineadm report flush --timeout 2m`,
    )
    .action(async (_, options: ReportFlushOptions) => done(await (await import('./report.ts')).reportFlush(options)));
  const test = report
    .command('test')
    .description('send each sink of a document an event that is marked as a test, and show the result')
    .addOption(insecureDocumentOption())
    .addOption(sinkOption())
    .addOption(outputOption());
  addDocuments(test, 'required')
    .addHelpText(
      'after',
      `\nExits with ${exitCode('DifferencesFound')} when a sink did not accept it.\n\nExample:\n  machineadm report test -f bootstrap.yaml`,
    )
    .action(async (_, options: DocumentOptions & { sink?: readonly string[] }) =>
      done(await (await import('./report.ts')).reportTest(options)),
    );
  const watch = report
    .command('watch')
    .description('check periodically whether this node works, and report what changed; needs no bootstrap')
    .addOption(insecureDocumentOption())
    .option('--interval <duration>', 'between two checks', '30s')
    .option('--repeat <duration>', 'how often to report what did not change', '10m')
    .addOption(
      new Option('--require <what>', 'what counts as healthy')
        .choices(['KubeletHealthy', 'NodeRegistered', 'NodeReady'])
        .default('NodeReady'),
    )
    .option(
      '--boot-id-file <file>',
      "where the machine's boot id is, as the kubelet's option of this name; an empty file where it is not to count",
      '/proc/sys/kernel/random/boot_id',
    );
  addDocuments(watch)
    .addHelpText(
      'after',
      "\nWithout -f the machine's own Node is updated, with the kubelet's credential. Runs until it is stopped.\n\nExample:\n  machineadm report watch --interval 1m",
    )
    .action(async (_, options: WatchOptions) => done(await (await import('./report-watch.ts')).reportWatch(options)));
}
