import * as z from 'zod';
import { absolutePath, duration } from './fields.ts';
import { sinkSection } from './sinks/index.ts';

export const reporting = z.strictObject({
  sentinel: z.strictObject({ path: absolutePath }).optional(),
  deadline: duration
    .optional()
    .describe('How long delivery is tried after the run ended, beside it; the rest is sent later. Default 30s.'),
  sinks: z.array(sinkSection).max(32).optional().describe('Default: Journal.'),
});
