/** In place of `src/host/files/paths.ts`: the lock of a machine that only the tests use. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export * from '../../../src/host/files/paths.ts';

export const LOCK_PATH = join(mkdtempSync(join(tmpdir(), 'machineadm-lock-')), 'lock');
