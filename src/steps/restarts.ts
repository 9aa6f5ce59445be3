import type { Step } from './step.ts';

/** Follow-ups that a document asks for by the full names of units. */
export const OF_DOCUMENT = /^(?:reload|restart):.*\.[a-z]+$/;

/**
 * Restarts and reloads of services that changes before this step owe: each once, whatever owed it, in this run or in one that
 * was killed. A service that does not run reads everything when it is started.
 */
export const restarts: Step<boolean, undefined, never> = {
  id: 'restarts',
  settlesFor: (_desired, owed) => [...owed].filter((followUp) => OF_DOCUMENT.test(followUp)),

  desired: ({ host }) =>
    [
      ...host.absent,
      ...host.files,
      ...host.archives,
      ...host.directories,
      ...host.links,
      ...host.certificateAuthorities,
    ].some(({ owes }) => owes !== undefined),

  idle: (isNamed, { owed }) => !isNamed && ![...owed].some((followUp) => OF_DOCUMENT.test(followUp)),

  inspect: async () => undefined,

  plan: () => [],

  async apply() {},

  async followUp(host, _desired, followUp) {
    const [verb, name = ''] = followUp.split(/:(.*)/s);
    if (!(await host.service(name)).active) return;
    await (verb === 'reload' ? host.services.reloadService(name) : host.services.restart(name));
  },
};
