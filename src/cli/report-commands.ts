import { exitCode } from '@machineadm/document/exit-codes.ts';
import { type Command, Option } from 'commander';
import { endDespiteConnections } from './lingering.ts';
import { type DocumentOptions, documentOption, insecureDocumentOption, outputOption, sinkOption } from './options.ts';
import type { OutputFormat } from './output.ts';
import type { WatchOptions } from './report-watch.ts';

/** `machineadm report …`: what remote sinks are told. */
export function addReportCommands(program: Command, concluded: (status: number) => void): void {
  const done = (status: number): void => {
    concluded(status);
    endDespiteConnections();
  };
  const report = program
    .command('report')
    .description('tell the sinks of a document: what waits for them, or a test')
    .addHelpText('after', '\nExample:\n  machineadm report test -d bootstrap.yaml');
  report
    .command('flush')
    .description('send the reports that could not be sent yet (run after each run, and by a timer)')
    .addOption(documentOption().makeOptionMandatory(false))
    .addOption(insecureDocumentOption())
    .addOption(outputOption())
    .option('--within <duration>', 'how long to go on trying', '30s')
    .option('--linger <duration>', 'how long after that to make each try that falls due', '0s')
    .addHelpText(
      'after',
      `\nExits with ${exitCode('DifferencesFound')} while something waits, and when something was lost. With -d the sinks are those of the document, where it has one of\nthe name: after a reboot a secret that is written into the document is known from there only.\n\nExample:\n  machineadm report flush --within 2m`,
    )
    .action(async (options: { document?: readonly string[]; output: OutputFormat; within: string; linger: string }) =>
      done(await (await import('./report.ts')).reportFlush(options)),
    );
  report
    .command('test')
    .description('send each sink of a document an event that is marked as a test, and show what became of it')
    .addOption(documentOption())
    .addOption(insecureDocumentOption())
    .addOption(sinkOption())
    .addOption(outputOption())
    .addHelpText(
      'after',
      `\nExits with ${exitCode('DifferencesFound')} when one did not take it.\n\nExample:\n  machineadm report test -d bootstrap.yaml`,
    )
    .action(async (options: DocumentOptions & { sink?: readonly string[] }) =>
      done(await (await import('./report.ts')).reportTest(options)),
    );
  report
    .command('watch')
    .description('look again and again whether this node works, and tell what changed; needs nothing of a bootstrap')
    .addOption(documentOption().makeOptionMandatory(false))
    .addOption(insecureDocumentOption())
    .option('--interval <duration>', 'between two looks', '30s')
    .option('--repeat <duration>', 'how often to tell what did not change', '10m')
    .addOption(
      new Option('--require <what>', 'what counts as healthy')
        .choices(['KubeletHealthy', 'NodeRegistered', 'NodeReady'])
        .default('NodeReady'),
    )
    .option(
      '--boot-id-file <file>',
      "where the machine's boot id is, as the kubelet's option of this name; an empty file where it is not to count",
      '/proc/sys/kernel/random/boot_id',
    )
    .addHelpText(
      'after',
      "\nWithout -d the machine's own Node is told, with the kubelet's credential. Runs until it is stopped.\n\nExample:\n  machineadm report watch --interval 1m",
    )
    .action(async (options: WatchOptions) => done(await (await import('./report-watch.ts')).reportWatch(options)));
}
