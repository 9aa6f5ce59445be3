import * as z from 'zod';
import type { ExecSinkModel } from '../../../model-sinks.ts';
import { define, field, object } from '../../../sections/field.ts';
import type { ResolveSecret } from '../convert-values.ts';
import { environmentName, secret } from '../fields.ts';
import { remoteFields, toRemoteOptions } from './fields.ts';

export const execSink = define(
  'ExecSink',
  object({
    type: field(z.literal('Exec'), 'The kind of receiver.'),
    command: field(
      z.array(z.string()).min(1),
      'The program and its arguments. It is started for each event and reads it from stdin as one line of JSON.',
      { example: ['/usr/local/bin/report'] },
    ),
    environment: field(
      z.record(environmentName, secret),
      'Environment variables of the program. A value is a secret, written down or by name.',
      { default: {}, example: { TOKEN: { secret: 'reportToken' } } },
    ),
    ...remoteFields,
  }),
  'A program that reads each event from stdin.',
  { type: 'Exec', command: ['/usr/local/bin/report'] },
);

export function toExecSink(section: z.infer<typeof execSink>, name: string, resolve: ResolveSecret): ExecSinkModel {
  return {
    kind: 'Exec',
    ...toRemoteOptions(section, name),
    command: section.command,
    environment: Object.fromEntries(
      Object.entries(section.environment ?? {}).map(([variable, value]) => [
        variable,
        resolve(value, `${variable} of the sink ${name}`),
      ]),
    ),
  };
}
