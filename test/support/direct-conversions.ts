import type { Conversions } from '@machineadm/translator/conversions/pool.ts';
import { convertSecret, mergedText, wrapConverted } from '@machineadm/translator/conversions/translate.ts';
import { configProblems } from '@machineadm/translator/provider/check.ts';
import { configUpdateProblem } from '@machineadm/translator/updates/problem.ts';

/** Conversions without threads, budgets and turns. */
export const DIRECT_CONVERSIONS: Conversions = {
  convertSecret: (_, __, ...args) => convertSecret(...args),
  wrapConverted: (_, __, ...args) => wrapConverted(...args),
  mergedText: (_, __, ...args) => mergedText(...args),
  configProblems: (_, __, ...args) => configProblems(...args),
  configUpdateProblem: (_, __, ...args) => configUpdateProblem(...args),
  close: async () => undefined,
};
