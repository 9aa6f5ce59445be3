import type { MachineDocument, MachineState, ThisMachine } from './status.ts';

/** What a machine is, as every command says it. */
export const MACHINE_SENTENCES: Readonly<Record<MachineState, string>> = {
  'never touched': 'no change of machineadm is recorded on this machine',
  prepared: 'this machine was prepared by machineadm prepare, and not provisioned',
  'host only': 'this machine is set up without Kubernetes',
  attempted: 'the setup of this machine was begun, and is not complete',
  node: 'this machine is a node',
  'broken node': 'this machine is a node that does not work',
};

/** The lines of `machineadm status` about the machine and its documents. */
export function formatThisMachine({ state, documents }: ThisMachine): readonly string[] {
  const columns = (one: MachineDocument) => [one.name, one.command, one.outcome, one.at];
  const widths = [0, 1, 2].map((column) => Math.max(...documents.map((one) => columns(one)[column]?.length ?? 0)));
  const lines = documents.map((one) => {
    const cells = columns(one).map((cell, column) => cell.padEnd(widths[column] ?? 0));
    return `    ${[...cells, one.sources.join(', ')].join('  ')}`.trimEnd();
  });
  const list = documents.length === 0 ? '' : documents.length === 1 ? '. Its document:' : '. Its documents:';
  return [`  ${MACHINE_SENTENCES[state]}${list}`, ...lines];
}
