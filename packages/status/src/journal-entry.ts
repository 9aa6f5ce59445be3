import { oneLine } from '@machineadm/document/text/printable.ts';
import { formatEvent, formatFailure } from './progress.ts';
import type { RunEvent } from './status.ts';

/** A kind of journal entry. Its id never changes: users select, alert on and translate entries by it. */
export interface MessageId {
  /** 128 bits in journalctl's format: `journalctl MESSAGE_ID=…`. */
  readonly id: string;
  readonly meaning: string;
  /** syslog(3): 3 error, 4 warning, 5 notice, 6 informational, 7 debug. */
  readonly priority: 3 | 4 | 5 | 6 | 7;
}

/** The table of message ids. Only add entries. */
export const MESSAGE_IDS = {
  Started: { id: 'c65f670936424304bf2b27e83c54b71d', meaning: 'a run began', priority: 5 },
  StepStarted: { id: '6d7c15b8688e44b4a01b6002fcfae043', meaning: 'a step began', priority: 7 },
  StepDone: { id: 'e6dddff003484c4287118bfabaf04873', meaning: 'a step succeeded or was skipped', priority: 6 },
  StepFailed: { id: '4ec9862d6a20477188ce02ce137d7a6f', meaning: 'a step failed', priority: 3 },
  Waiting: { id: '2a713daff48f45c99ed447e38ca77ffb', meaning: 'a step waits for something', priority: 6 },
  Warning: {
    id: 'cd41f9e302954dc9ac25e3d6543d8cdf',
    meaning: 'a warning, which does not fail the run',
    priority: 4,
  },
  Succeeded: { id: 'f00a273f960f4a93be5794bd7012fa89', meaning: 'a run succeeded', priority: 5 },
  Failed: { id: '2f14f238414744d7a29a24e186d69b75', meaning: 'a run failed', priority: 3 },
  Interrupted: { id: '548d0626e3644d8983264305d5294953', meaning: 'a run was interrupted', priority: 4 },
  RebootRequired: {
    id: '0331c95e231649b2ba4059500e7054ce',
    meaning: 'a run ended because a reboot is required',
    priority: 4,
  },
} as const satisfies Record<string, MessageId>;

/**
 * An event in the format of `logger --journald`: KEY=VALUE lines. Repeated MESSAGE lines become one message; every
 * other field is a single line, because a newline would start a new field.
 */
export function journalEntry(event: RunEvent): string {
  const message = messageId(event);
  const { status } = event;
  const fields: readonly (readonly [string, string | undefined])[] = [
    ['MESSAGE_ID', message.id],
    ['PRIORITY', `${message.priority}`],
    ['SYSLOG_IDENTIFIER', 'machineadm'],
    ['MACHINEADM_RUN', status.runId],
    ['MACHINEADM_MACHINE', status.machine.name],
    ['MACHINEADM_DOCUMENT', status.document.sha256 === '' ? undefined : status.document.sha256],
    ['MACHINEADM_STEP', event.kind === 'step' ? event.step.id : (status.failure?.step ?? status.step)],
    ['MACHINEADM_REASON', event.kind === 'concluded' ? status.failure?.reason : undefined],
    ['MACHINEADM_OUTCOME', event.kind === 'concluded' ? status.outcome : undefined],
  ];
  const lines = fields.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${oneLine(value)}`]));
  const text = entryText(event).split('\n');
  return `${[...lines, ...text.map((line) => `MESSAGE=${oneLine(line)}`)].join('\n')}\n`;
}

/** The text of an entry: one line, followed by a failure with its evidence. */
export function entryText(event: RunEvent): string {
  const line =
    formatEvent(event) ?? (event.kind === 'step' ? `${event.step.id}: ${event.step.state.toLowerCase()}` : '');
  const failure = event.kind === 'concluded' ? event.status.failure : undefined;
  return failure === undefined ? line : `${line}\n${formatFailure(failure)}`;
}

export function messageId(event: RunEvent): MessageId {
  switch (event.kind) {
    case 'started':
      return MESSAGE_IDS.Started;
    case 'waiting':
      return MESSAGE_IDS.Waiting;
    case 'warning':
      return MESSAGE_IDS.Warning;
    case 'step':
      if (event.step.state === 'Failed') return MESSAGE_IDS.StepFailed;
      return event.step.state === 'Running' ? MESSAGE_IDS.StepStarted : MESSAGE_IDS.StepDone;
    case 'concluded':
      return MESSAGE_IDS[event.status.outcome ?? 'Failed'];
  }
}
