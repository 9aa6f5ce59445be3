import * as z from 'zod';
import type { ExecSinkModel } from '../../../model-sinks.ts';
import type { ResolveSecret } from '../convert-values.ts';
import { environmentName, secret } from '../fields.ts';
import { remoteFields, toRemoteOptions } from './fields.ts';

export const execSink = z.strictObject({
  type: z.literal('Exec'),
  command: z.array(z.string()).min(1),
  environment: z.record(environmentName, secret).optional(),
  ...remoteFields,
});

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
