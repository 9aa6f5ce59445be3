import { exitCode } from '@machineadm/document/exit-codes.ts';
import type { CommandTable } from '../cli/command-tree.ts';
import {
  type AuditOptions,
  addDocuments,
  addInputs,
  formerly,
  insecureDocumentOption,
  jsonStreamOption,
  optionFor,
  outputOption,
  several,
  timeoutOption,
} from '../cli/options.ts';
import type { OutputFormat } from '../cli/output-format.ts';
import type { BundleOptions } from './bundle/bundle-command.ts';
import type { ConformanceOptions } from './conformance/conformance-command.ts';
import type { DiagnoseOptions } from './diagnose/run.ts';
import type { DoctorOptions } from './doctor/run.ts';
import type { StatusOptions } from './status/run.ts';

const CONFORMANCE_PROFILES = ['host', 'kubernetes', 'windows'];

/** Adds the commands that look at this machine and change nothing. */
export const MACHINE_COMMANDS: CommandTable = {
  status(program, done) {
    program
      .command('status')
      .description('show the progress or the result of the run on this machine')
      .addOption(outputOption('html'))
      .option('--wait', 'wait for the end of the run, and exit with its exit code; a terminal shows the progress')
      .option('--follow', 'the same, and print each event as a line on stderr')
      .option('--timeline', 'add to the text how long each part took; json and html always have it')
      .addOption(jsonStreamOption())
      .addOption(timeoutOption('the wait').default('30m'))
      .addHelpText(
        'after',
        '\nExamples:\n  machineadm status --wait --timeout 10m -o json\n  machineadm status -o html > status.html    a page for a ticket',
      )
      .action(async (options: StatusOptions) => done(await (await import('./status/run.ts')).status(options)));
  },

  timeline(program, done) {
    program
      .command('timeline')
      .description("show how long each part took, from the kernel's boot to the end of the run")
      .addOption(outputOption())
      .addHelpText('after', '\nExample:\n  machineadm timeline')
      .action(async (options: { output: OutputFormat }) =>
        done(await (await import('./status/run.ts')).timeline(options)),
      );
  },

  doctor(program, done) {
    const doctor = program
      .command('doctor')
      .description('check whether a bootstrap can succeed on this machine, or whether the node works; changes nothing')
      .addOption(outputOption('junit'));
    addDocuments(doctor)
      .addHelpText(
        'after',
        `\nExits with ${exitCode('DifferencesFound')} when a check fails.\n\nExample:\n  machineadm doctor -f bootstrap.yaml`,
      )
      .action(async (_, options: DoctorOptions) => done(await (await import('./doctor/run.ts')).doctor(options)));
  },

  facts(program, done) {
    program
      .command('facts')
      .description('show facts about the machine: system, versions, hardware, and values for variables')
      .addOption(outputOption())
      .addHelpText('after', '\nExamples:\n  machineadm facts\n  machineadm facts -o jsonpath={.hardware.memory}')
      .action(async (options: { output: OutputFormat }) => done(await (await import('./facts/run.ts')).facts(options)));
  },

  diagnose(program, done) {
    const diagnose = program
      .command('diagnose')
      .description('name the cause of a failed bootstrap, on this machine or from saved logs; changes nothing')
      .option('--kubeadm-exit-code <number>', 'the exit code of kubeadm, if you know it')
      .addOption(outputOption());
    addInputs(diagnose, {
      property: 'log',
      noun: 'log',
      description:
        'a console, cloud-init-output.log, journal (short or JSON), container or kubeadm log, or - for stdin; repeat for several of one machine',
      former: '--log <file>',
    })
      .addHelpText(
        'after',
        '\nExamples:\n  machineadm diagnose\n  machineadm diagnose -f /var/log/cloud-init-output.log -o json',
      )
      .action(async (_, options: DiagnoseOptions) => done(await (await import('./diagnose/run.ts')).diagnose(options)));
  },

  bundle(program, done) {
    const bundle = program
      .command('bundle')
      .description('write everything that a bug report needs into one file, without secrets; changes nothing else')
      .option('--output-file <file>', 'the file to write, or - for stdout (default: machineadm-bundle.tar.gz)')
      .option('--output-dir <directory>', 'write machineadm-bundle.tar.gz into this directory')
      .addOption(outputOption());
    addDocuments(bundle)
      .addHelpText('after', '\nExample:\n  machineadm bundle -f bootstrap.yaml --output-file /root/bundle.tar.gz')
      .action(async (_, options: BundleOptions) =>
        done(await (await import('./bundle/bundle-command.ts')).bundle(options)),
      );
  },

  audit(program, done) {
    const audit = program
      .command('audit')
      .description('check this machine against security benchmarks, or for secrets left on it; changes nothing')
      .addOption(insecureDocumentOption())
      .addOption(outputOption('junit'))
      .option(
        '--profile <benchmark>',
        'a benchmark: cis-level-1, cis-level-2, stig, cis-os; repeat for several; default: those the machine was provisioned with',
        several,
      )
      .option('--residue', 'look for secrets of the document that cloud-init, Ignition and other tools left behind')
      .option('--scrub', 'with --residue: overwrite them if that breaks nothing');
    addDocuments(audit)
      .addHelpText(
        'after',
        `\nExits with ${exitCode('DifferencesFound')} while a control fails or a secret is left.\n\nExamples:\n  machineadm audit --profile cis-level-1\n  machineadm audit -f bootstrap.yaml -o json\n  machineadm audit --residue -f bootstrap.yaml\n  machineadm audit --residue --scrub -f bootstrap.yaml`,
      )
      .action(async (_, options: AuditOptions) => done(await (await import('./audit/run.ts')).audit(options)));
  },

  conformance(program, done) {
    program
      .command('conformance')
      .description('check this machine or image against the contract for operating systems; changes nothing')
      .option('--root <directory>', 'check the image in this directory, of any architecture; only its files are read')
      .addOption(
        optionFor(
          'profile',
          '--as <profile>',
          'the profile to check; default: kubernetes if any of its programs is installed',
        ).choices(CONFORMANCE_PROFILES),
      )
      .addOption(formerly('--profile <profile>', 'profile').choices(CONFORMANCE_PROFILES))
      .addOption(outputOption('junit'))
      .addHelpText(
        'after',
        `\nExits with ${exitCode('DifferencesFound')} where a MUST is broken, and with ${exitCode('NotProven')} where none is broken and one could not be decided.\n\nExamples:\n  machineadm conformance -o json\n  machineadm conformance --root /mnt/image --as kubernetes -o junit`,
      )
      .action(async (options: ConformanceOptions) =>
        done(await (await import('./conformance/conformance-command.ts')).conformanceCommand(options)),
      );
  },
};
