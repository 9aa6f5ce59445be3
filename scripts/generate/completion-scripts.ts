import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const FILES = { bash: 'bash', zsh: 'zsh', fish: 'fish', powershell: 'ps1' } as const;

/** `src/commands/completion/scripts.ts` from `packaging/completion`. */
export function completionScripts(root: string): string {
  const scripts = Object.entries(FILES).map(([shell, extension]) => {
    const text = readFileSync(join(root, `packaging/completion/machineadm.${extension}`), 'utf8');
    return `  ${shell}: \`${text.replace(/[\\`]|\$\{/g, '\\$&')}\`,\n`;
  });
  return `/** Written by \`npm run generate\` from packaging/completion. */\nexport const COMPLETION_SCRIPTS = {\n${scripts.join('')}} as const;\n`;
}
