import fc from 'fast-check';

/**
 * fast-check with one seed for all properties: the same commit gives the same result. `MACHINEADM_TEST_SEED=random` (`npm run
 * test:all`) searches elsewhere each time, and a failure names its seed, which `MACHINEADM_TEST_SEED=NUMBER` repeats.
 */
const SEED = 20261130;

const { MACHINEADM_TEST_SEED: wanted = `${SEED}` } = process.env;
if (wanted !== 'random') fc.configureGlobal({ seed: Number(wanted) });

export default fc;
