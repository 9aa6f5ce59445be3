import type { Conversions } from '@machineadm/translator/conversions/pool.ts';
import { convertSecret, wrapConverted } from '@machineadm/translator/conversions/translate.ts';
import { configProblems } from '@machineadm/translator/provider/check.ts';

/** Conversions without threads, budgets and turns. */
export const DIRECT_CONVERSIONS: Conversions = {
  convertSecret: (_, __, ...args) => convertSecret(...args),
  wrapConverted: (_, __, ...args) => wrapConverted(...args),
  configProblems: (_, __, ...args) => configProblems(...args),
  close: async () => undefined,
};
