import { exitCode } from '@machineadm/document/exit-codes.ts';
import type { Command } from 'commander';
import { outputOption } from './options.ts';
import type { OutputFormat } from './output.ts';

/** `machineadm conformance`, for those who maintain an operating system. */
export function addConformanceCommand(program: Command, done: (status: number) => void): void {
  program
    .command('conformance')
    .description('hold this machine or image against the contract for operating systems; changes nothing')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `\nExits with ${exitCode('DifferencesFound')} where a MUST is broken.\n\nExample:\n  machineadm conformance -o json\n  chroot /mnt/image machineadm conformance`,
    )
    .action(async (options: { output: OutputFormat }) =>
      done(await (await import('./conformance.ts')).conformanceCommand(options)),
    );
}
