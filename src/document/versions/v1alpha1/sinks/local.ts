import * as z from 'zod';
import { absolutePath } from '../fields.ts';

export const journalSink = z.strictObject({ type: z.literal('Journal') });

export const consoleSink = z.strictObject({ type: z.literal('Console'), device: absolutePath.optional() });
