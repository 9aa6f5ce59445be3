import type { Carrier } from './carrier.ts';
import { cloudInit } from './cloud-init.ts';
import { cloudbaseInit } from './cloudbase-init.ts';
import { ignition } from './ignition.ts';
import { script } from './script.ts';
import { talos } from './talos.ts';
import { unattend } from './unattend.ts';

/** Every carrier by the name that `--format` takes. */
export const CARRIERS = {
  'cloud-init': cloudInit,
  ignition,
  'cloudbase-init': cloudbaseInit,
  unattend,
  talos,
  script,
} as const satisfies Readonly<Record<string, Carrier>>;

export type CarrierName = keyof typeof CARRIERS;
