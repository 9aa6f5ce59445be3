import { EXIT_CODES } from '@machineadm/document/exit-codes.ts';

const CODES = Object.values(EXIT_CODES).map(({ code, meaning }) => `  ${String(code).padStart(2)}  ${meaning}`);

/** Printed after the program's help. */
export const EXAMPLES = `
Examples:
  machineadm example --role Worker > bootstrap.yaml    a document to start from
  machineadm validate -f bootstrap.yaml                every mistake at once, with its place
  machineadm plan -f bootstrap.yaml                    what would change on this machine
  machineadm provision -f bootstrap.yaml               do it
  machineadm status                                    how it went

Exit codes:
${CODES.join('\n')}

Documentation: man machineadm, https://machineadm.dev`;
