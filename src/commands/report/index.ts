import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { Option } from 'commander';
import type { AddCommand } from '../../cli/command-tree.ts';
import { endDespiteConnections } from '../../cli/lingering.ts';
import {
  addDocuments,
  type DocumentOptions,
  formerly,
  insecureDocumentOption,
  outputOption,
  sinkOption,
  timeoutOption,
} from '../../cli/options.ts';
import type { ReportFlushOptions } from './flush.ts';
import type { WatchOptions } from './watch.ts';

export const addReport: AddCommand = (program, concluded) => {
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
    .option('--linger <duration>', 'how long to continue with retries after that', '0s');
  addDocuments(flush)
    .addHelpText(
      'after',
      `\nExits with ${exitCode('DifferencesFound')} if a report still waits or was lost. With -f, the sinks of the document replace\nthose of the same name: after a reboot, only the document contains the secrets that are written into it.\n\nExample:\n  machineadm report flush --timeout 2m`,
    )
    .action(async (_, options: ReportFlushOptions) => done(await (await import('./flush.ts')).reportFlush(options)));
  const test = report
    .command('test')
    .description('send a test event to each sink of a document, and show the result')
    .addOption(insecureDocumentOption())
    .addOption(sinkOption())
    .addOption(outputOption());
  addDocuments(test, 'required')
    .addHelpText(
      'after',
      `\nExits with ${exitCode('DifferencesFound')} when a sink did not accept it.\n\nExample:\n  machineadm report test -f bootstrap.yaml`,
    )
    .action(async (_, options: DocumentOptions & { sink?: readonly string[] }) =>
      done(await (await import('./test.ts')).reportTest(options)),
    );
  const watch = report
    .command('watch')
    .description('check periodically whether this node works, and report changes; needs no bootstrap')
    .addOption(insecureDocumentOption())
    .option('--interval <duration>', 'the time between two checks', '30s')
    .option('--repeat <duration>', 'how often to report an unchanged state', '10m')
    .addOption(
      new Option('--require <what>', 'what counts as healthy')
        .choices(['KubeletHealthy', 'NodeRegistered', 'NodeReady'])
        .default('NodeReady'),
    )
    .option(
      '--boot-id-file <file>',
      "the file with the machine's boot ID, like the kubelet's option of this name; an empty file ignores the boot ID",
      '/proc/sys/kernel/random/boot_id',
    );
  addDocuments(watch)
    .addHelpText(
      'after',
      "\nWithout -f the machine's own Node is updated, with the kubelet's credential. Runs until it is stopped.\n\nExample:\n  machineadm report watch --interval 1m",
    )
    .action(async (_, options: WatchOptions) => done(await (await import('./watch.ts')).reportWatch(options)));
};
