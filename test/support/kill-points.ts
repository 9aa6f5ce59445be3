export const EVERY_KILL = process.env.MACHINEADM_E2E === 'all';

/**
 * At which of `count` events, from 1 on, a run is killed: at all of them with MACHINEADM_E2E=all (`npm run test:all`), else at so many,
 * spread evenly, with the first and the last.
 */
export function killPoints(count: number, most = 8): readonly number[] {
  if (EVERY_KILL || count <= most) return Array.from({ length: count }, (_, index) => index + 1);
  return Array.from({ length: most }, (_, index) => 1 + Math.round((index * (count - 1)) / (most - 1)));
}
