/**
 * `packages/user-data/src/download-script-text.ts` from `packaging/download/machineadm-download.sh`: without comments and
 * indentation, because the size of user data is limited. The markers of optional sections (`# ---`) stay for the renderer.
 */
export function downloadScriptText(script: string): string {
  const [interpreter = '', ...lines] = script.split('\n');
  const kept = lines.filter((line) => !/^\s*(#(?! ---)|$)/.test(line)).join('\n');
  // The indentation of the Python code must stay. The code is one quoted string.
  const [, before = '', python = '', after = ''] = /^([\s\S]*?)(^PYTHON='[^']*')([\s\S]*)$/m.exec(kept) ?? [];
  const flat = (shell: string): string => shell.replace(/^ +/gm, '');
  const text = `${interpreter}\n${flat(before)}${python}${flat(after)}\n`;
  const literal = text.replace(/[\\`]|\$\{/g, '\\$&');
  return `/** Written by \`npm run generate\` from packaging/download/machineadm-download.sh. */\nexport const DOWNLOAD_SCRIPT = \`${literal}\`;\n`;
}

/**
 * `packages/user-data/src/download-script-windows-text.ts` from `packaging/download/machineadm-download.ps1`, in the same
 * way. It has no multi-line strings, whose indentation would matter.
 */
export function downloadScriptWindowsText(script: string): string {
  const kept = script
    .split('\n')
    .filter((line) => !/^\s*(#(?! ---)|$)/.test(line))
    .map((line) => line.trimStart());
  const literal = `${kept.join('\n')}\n`.replace(/[\\`]|\$\{/g, '\\$&');
  return `/** Written by \`npm run generate\` from packaging/download/machineadm-download.ps1. */\nexport const DOWNLOAD_SCRIPT_WINDOWS = \`${literal}\`;\n`;
}
