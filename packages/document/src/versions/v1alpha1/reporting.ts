import * as z from 'zod';
import { absolutePath, duration } from './fields.ts';
import { sinkSection } from './sinks/index.ts';

export const reporting = z.strictObject({
  sentinel: z.strictObject({ path: absolutePath }).optional(),
  deadline: duration.optional(),
  sinks: z.array(sinkSection).max(32).optional(),
});
