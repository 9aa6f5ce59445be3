/**
 * The environment that hands on what `npm test` prepared for this process (scripts/test.ts), where it did: the compile cache
 * of the tests, and the agent, bundled and compiled. From these, each of the some thousand runs of the agent takes a quarter
 * of the time that the sources take.
 */
export function preparedAgent(): Readonly<Record<string, string>> {
  const { AGENT_UNDER_TEST: agent, NODE_COMPILE_CACHE: cache } = process.env;
  return {
    ...(cache === undefined ? {} : { NODE_COMPILE_CACHE: cache }),
    ...(agent === undefined ? {} : { AGENT_UNDER_TEST: agent }),
  };
}
