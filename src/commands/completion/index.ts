import type { CommandTable } from '../../cli/command-tree.ts';
import type { Shell } from './completion-command.ts';

/** The command that prints completion scripts, and the hidden command that these scripts call. */
export const COMPLETION_COMMANDS: CommandTable = {
  completion(program, done) {
    program
      .command('completion')
      .description('print a completion script for a shell')
      .addArgument(
        program
          .createArgument('<shell>', 'your shell')
          .choices(['bash', 'zsh', 'fish', 'powershell'] satisfies Shell[]),
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
      .action(async (shell: Shell) => done(await (await import('./completion-command.ts')).completion(shell)));
  },

  __complete(program, done) {
    program
      .command('__complete', { hidden: true })
      .description('what the scripts of `completion` ask')
      .option('--current <word>', 'the word at the cursor', '')
      .argument('[word...]', 'the words before it')
      .addHelpText('after', '\nExample:\n  machineadm __complete --current=j -- status -o')
      .action(async (words: readonly string[], { current }: { current: string }) =>
        done(await (await import('./complete.ts')).complete(words, current, program)),
      );
  },
};
