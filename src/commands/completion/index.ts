import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import type { AddCommand } from '../../cli/command-tree.ts';
import { printText } from '../../cli/output.ts';
import type { COMPLETION_SCRIPTS } from './scripts.ts';

type Shell = keyof typeof COMPLETION_SCRIPTS;

/** The scripts call `machineadm __complete` at each TAB and have no knowledge of their own. */
export const addCompletion: AddCommand = (program, done) => {
  program
    .command('completion')
    .description('print a completion script for a shell')
    .addArgument(
      program.createArgument('<shell>', 'your shell').choices(['bash', 'zsh', 'fish', 'powershell'] satisfies Shell[]),
    )
    .addHelpText(
      'after',
      `
Examples:
  machineadm completion bash > /etc/bash_completion.d/machineadm
  machineadm completion zsh > /usr/local/share/zsh/site-functions/_machineadm
  machineadm completion fish > ~/.config/fish/completions/machineadm.fish
  machineadm completion powershell >> $PROFILE`,
    )
    .action(async (shell: Shell) => {
      printText((await import('./scripts.ts')).COMPLETION_SCRIPTS[shell]);
      done(exitCode('Success'));
    });
};

/** The hidden command that the scripts call. */
export const addComplete: AddCommand = (program, done) => {
  program
    .command('__complete', { hidden: true })
    .description('what the scripts of `completion` ask')
    .option('--current <word>', 'the word at the cursor', '')
    .argument('[word...]', 'the words before it')
    .addHelpText('after', '\nExample:\n  machineadm __complete --current=j -- status -o')
    .action(async (words: readonly string[], { current }: { current: string }) =>
      done(await (await import('./complete.ts')).complete(words, current, program)),
    );
};
